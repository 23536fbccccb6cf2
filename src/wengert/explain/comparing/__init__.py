"""Derivatives by different methods, side by side."""
