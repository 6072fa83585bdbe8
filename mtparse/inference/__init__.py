"""Exact inference over dependency trees; :mod:`mtparse.inference.family` is the way in."""
