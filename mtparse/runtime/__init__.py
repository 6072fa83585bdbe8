"""What everything stands on: compiled kernels, threads, files that appear whole, progress."""
