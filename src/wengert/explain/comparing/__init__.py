"""Derivatives found in different ways, side by side."""
