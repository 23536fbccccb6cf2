"""Systems, factorizations, norms and functions of matrices."""
