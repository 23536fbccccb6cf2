"""Loops over elements as LLVM text, and their threads."""
