"""Products of matrices: what is computed, in which order it is added, what is decided about it, and one tile."""
