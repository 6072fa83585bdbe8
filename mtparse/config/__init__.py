"""Configs of single runs: YAML, every check of it, frozen dataclasses."""
