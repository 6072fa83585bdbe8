"""Runs and grids of runs: data in, tuning, directories, tables and figures out."""
