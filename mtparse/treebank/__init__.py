"""Treebanks: bytes to sentences and back, head arrays, every check, statistics."""
