"""Attention in blocks of queries and keys, whose scores are never stored as a whole."""
