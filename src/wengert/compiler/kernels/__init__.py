"""Loops over elements as LLVM text."""
