"""The training matrix, objectives, trainers, and what is stored of a training under way."""
