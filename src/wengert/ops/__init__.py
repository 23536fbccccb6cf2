"""The table: one family of operations a file."""
