"""The threads that share kernels and routines."""
