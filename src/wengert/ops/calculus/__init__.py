"""Differences, integrals, interpolation and polynomials of sampled values."""
