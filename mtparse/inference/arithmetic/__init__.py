"""Numbers beyond the range of float64, and how scores are brought into it."""
