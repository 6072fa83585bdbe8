"""Scores of parsers, and whether two differ by more than chance."""
