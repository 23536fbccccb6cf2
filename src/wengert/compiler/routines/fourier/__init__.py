"""Fourier transforms in native code: passes over vectors of signals, of which transforms of any length are made."""
