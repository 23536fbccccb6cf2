"""Transforms of few numbers in registers, of which passes over longer signals consist."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from wengert.compiler.routines.fourier.numbers import Pair, constant_pair, multiply_add
from wengert.compiler.routines.fourier.tables import roots_of_unity
from wengert.compiler.simd.lanes import Code, Lanes, Type

SQUARE_ROOT_OF_HALF = math.sqrt(0.5)


@lru_cache
def root_of_unity(k: int, n: int) -> complex:
    """exp(-2 pi i k / n)."""
    return complex(roots_of_unity(k, n))


def transform(x: Sequence[Pair]) -> list[Pair]:
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


def transform_four(x: Sequence[Pair]) -> list[Pair]:
    even, odd = x[0] + x[2], x[1] + x[3]
    difference, turned = x[0] - x[2], times_root(x[1] - x[3], 1, 4)
    return [even + odd, difference + turned, even - odd, difference - turned]


def transform_prime(x: Sequence[Pair]) -> list[Pair]:
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
        even = Pair(*[weighted([w.real for w in roots], [s[part] for s in sums], x[0][part]) for part in (0, 1)])
        re, im = [weighted([-w.imag for w in roots], [d[part] for d in differences]) for part in (0, 1)]
        out[k] = Pair(even.re + im, even.im - re)
        out[n - k] = Pair(even.re - im, even.im + re)
    return out


def weighted(weights: Sequence[float], x: Sequence[Lanes], start: Lanes | None = None) -> Lanes:
    """The sum of numbers with weights."""
    terms = list(zip(weights, x, strict=True))
    if start is None:
        (weight, first), *terms = terms
        start = first * weight
    for weight, term in terms:
        start = multiply_add(term, weight, start)
    return start


def transform_product(x: Sequence[Pair], a: int, b: int) -> list[Pair]:
    """Transforms of a numbers with the distance b, roots of unity, and transforms of b numbers."""
    n = a * b
    inner = [transform(x[j::b]) for j in range(b)]
    outer = [transform([times_root(inner[j][k], j * k, n) for j in range(b)]) for k in range(a)]
    return [outer[k % a][k // a] for k in range(n)]


def transform_coprime(x: Sequence[Pair], a: int, b: int) -> list[Pair]:
    """Without roots of unity: indices are numbered by their remainders, so that the transform has two axes."""
    n = a * b
    inner = [transform([x[(b * i + a * j) % n] for i in range(a)]) for j in range(b)]
    outer = [transform([inner[j][k] for j in range(b)]) for k in range(a)]
    return [outer[k % a][k % b] for k in range(n)]


def times_root(x: Pair, k: int, n: int) -> Pair:
    """x exp(-2 pi i k / n). Multiples of a quarter of a turn only exchange parts, odd eighths need two products."""
    k %= n
    if 8 * k % n:
        return x.times(constant_pair(x.re.code, root_of_unity(k, n), x.re.type))
    if 4 * k % n:
        x = Pair((x.re + x.im) * SQUARE_ROOT_OF_HALF, (x.im - x.re) * SQUARE_ROOT_OF_HALF)  # an eighth of a turn
    match 4 * k // n:
        case 0:
            return x
        case 1:
            return Pair(x.im, -x.re)
        case 2:
            return Pair(-x.re, -x.im)
        case _:
            return Pair(-x.im, x.re)


@lru_cache
def transform_cost(n: int) -> int:
    """The number of instructions of a transform of n numbers."""
    code, element = Code(), Type("f64")
    transform([Pair(Lanes(code, "%re", element), Lanes(code, "%im", element))] * n)
    return len(code.lines)
