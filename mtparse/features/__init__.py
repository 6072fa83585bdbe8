"""Feature templates as data, the index of known features, and the kernels that extract them."""
