"""A graph as one native program: its memory, its steps, loops and choices, and its LLVM modules."""
