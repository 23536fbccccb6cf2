"""Steps that are functions of their own, such as products of matrices."""
