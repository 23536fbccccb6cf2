"""Convolution, filters and Fourier transforms."""
