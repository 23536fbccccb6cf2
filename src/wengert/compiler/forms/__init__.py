"""What operations become in native code: lowerings, elements at affine positions, and the form of each operation."""
