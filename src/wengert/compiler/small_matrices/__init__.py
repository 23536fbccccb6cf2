"""Functions of small matrices, written out: every element is a register, of one matrix or of lanes of several."""
