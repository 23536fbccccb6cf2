"""Benchmarks on a GPU: Wengert beside JAX and PyTorch."""
