"""Machine code: the target, loading, and the disk cache."""
