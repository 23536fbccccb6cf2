"""What operations cost: loops that cost much are cut into pieces, and what is cheap is computed again.

So costs decide in which order numbers are added, and are the same on every machine. They are in scalar operations, the
time of an addition of one element in a kernel whose operands are in the nearest cache, with AVX2. Moves of numbers cost
nothing, comparisons and bitwise operations one, choices and sums of complex numbers two.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class CostFields:
    """The costs of operations, for each element of the result."""

    operations_of_quotient: int = 4
    """Scalar operations that take as long as a division: a processor begins one in four cycles or more."""
    operations_of_root: int = 5
    """Scalar operations that take as long as a square root, which shares its circuit with divisions."""
    operations_of_function: int = 16
    """Scalar operations that take as long as a mathematical function such as exp: a polynomial, and what prepares it.
    """
    operations_of_pivot: int = 16
    """Scalar operations that take as long as the quotient or root of a column in a function of a small matrix, which
    the rest of the matrix waits for.
    """
    operations_of_integer_quotient: int = 12
    """Scalar operations that take as long as a division of integers, which has no vectors."""
    operations_of_complex_product: int = 6
    """Scalar operations of a product of complex numbers: four products and two sums."""
    operations_of_complex_quotient: int = 24
    """Scalar operations that take as long as a quotient of complex numbers: three divisions, with scaling."""
    operations_of_random_word: int = 18
    """Instructions of the hash that makes a random word."""
    operations_of_high_product: int = 12
    """Instructions for the upper half of a product of integers."""
    operations_of_squares_term: int = 10
    """Scalar operations of a term of a running sum of squared deviations, with its mean."""
