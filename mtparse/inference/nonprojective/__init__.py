"""All trees: the Matrix-Tree theorem and Chu-Liu-Edmonds."""
