"""The training matrix, the objectives, one module a trainer, and tuning on validation data."""
