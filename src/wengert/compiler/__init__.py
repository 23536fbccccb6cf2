"""Graphs as native code: schedule, memory plan, LLVM text, native entry."""
