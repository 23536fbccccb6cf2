"""Transforms of few numbers in registers, of which passes over longer signals consist."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from wengert.compiler.routines.fourier.numbers import multiply_add, product
from wengert.compiler.routines.fourier.tables import roots_of_unity
from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Type

SQUARE_ROOT_OF_HALF = math.sqrt(0.5)


@lru_cache
def root_of_unity(k: int, n: int) -> complex:
    """exp(-2 pi i k / n)."""
    return complex(roots_of_unity(k, n))


def transform(x: Sequence[Complex]) -> list[Complex]:
    """The Fourier transform of these numbers."""
    n = len(x)
    if n == 1:
        return list(x)
    if n == 2:
        return [x[0] + x[1], x[0] - x[1]]
    factor = next((p for p in (4, 2, 3, 5, 7) if n % p == 0), n)
    if factor == n:
        return transform_four(x) if n == 4 else transform_prime(x)
    rest = n // factor
    return transform_coprime(x, factor, rest) if math.gcd(factor, rest) == 1 else transform_product(x, rest, factor)


def transform_four(x: Sequence[Complex]) -> list[Complex]:
    """Four numbers, without products."""
    even, odd = x[0] + x[2], x[1] + x[3]
    difference, turned = x[0] - x[2], times_root(x[1] - x[3], 1, 4)
    return [even + odd, difference + turned, even - odd, difference - turned]


def transform_prime(x: Sequence[Complex]) -> list[Complex]:
    """An odd number of numbers, in pairs: x[j] + x[n - j] are multiplied by cosines, x[j] - x[n - j] by sines."""
    n = len(x)
    sums = [x[j] + x[n - j] for j in range(1, n // 2 + 1)]
    differences = [x[j] - x[n - j] for j in range(1, n // 2 + 1)]
    total = x[0]
    for term in sums:
        total = total + term
    out = [total] * n
    for k in range(1, n // 2 + 1):
        roots = [root_of_unity(j * k, n) for j in range(1, n // 2 + 1)]
        even = weighted([w.real for w in roots], sums, x[0])
        odd = weighted([-w.imag for w in roots], differences)
        out[k] = Complex(even.real + odd.imag, even.imag - odd.real)
        out[n - k] = Complex(even.real - odd.imag, even.imag + odd.real)
    return out


def weighted(weights: Sequence[float], x: Sequence[Complex], start: Complex | None = None) -> Complex:
    """The sum of numbers with real weights."""
    terms = list(zip(weights, x, strict=True))
    if start is None:
        (weight, first), *terms = terms
        start = Complex(first.real * weight, first.imag * weight)
    for weight, term in terms:
        start = Complex(multiply_add(term.real, weight, start.real), multiply_add(term.imag, weight, start.imag))
    return start


def transform_product(x: Sequence[Complex], a: int, b: int) -> list[Complex]:
    """Transforms of a numbers with the distance b, roots of unity, and transforms of b numbers."""
    n = a * b
    inner = [transform(x[j::b]) for j in range(b)]
    outer = [transform([times_root(inner[j][k], j * k, n) for j in range(b)]) for k in range(a)]
    return [outer[k % a][k // a] for k in range(n)]


def transform_coprime(x: Sequence[Complex], a: int, b: int) -> list[Complex]:
    """Without roots of unity: indices are numbered by their remainders, so that the transform has two axes."""
    n = a * b
    inner = [transform([x[(b * i + a * j) % n] for i in range(a)]) for j in range(b)]
    outer = [transform([inner[j][k] for j in range(b)]) for k in range(a)]
    return [outer[k % a][k % b] for k in range(n)]


def times_root(x: Complex, k: int, n: int) -> Complex:
    """x exp(-2 pi i k / n). Multiples of a quarter of a turn only exchange parts, odd eighths need two products."""
    k %= n
    if 8 * k % n:
        return product(x, x.like(root_of_unity(k, n)))
    if 4 * k % n:
        x = Complex(
            (x.real + x.imag) * SQUARE_ROOT_OF_HALF, (x.imag - x.real) * SQUARE_ROOT_OF_HALF
        )  # an eighth of a turn
    match 4 * k // n:
        case 0:
            return x
        case 1:
            return Complex(x.imag, -x.real)
        case 2:
            return Complex(-x.real, -x.imag)
        case _:
            return Complex(-x.imag, x.real)


@lru_cache
def transform_cost(n: int) -> int:
    """The number of instructions of a transform of n numbers."""
    code, element = Code(), Type("f64")
    transform([Complex(Lanes(code, "%re", element), Lanes(code, "%im", element))] * n)
    return len(code.lines)
