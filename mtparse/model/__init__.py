"""Trained models: their files, parsing with them, what they say of themselves."""
