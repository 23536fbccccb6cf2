"""One call, made in Wengert and in the standard's reference implementation, and the comparison of what comes out.

`array_api_strict` says which dtypes a function takes, which dtype and shape it returns, and (as NumPy computes for it)
which values. Arguments are written with plain ndarrays and NumPy dtypes, which become arrays and dtypes of either
namespace.
"""

from __future__ import annotations

from inspect import Parameter, signature
from operator import attrgetter
from typing import Any

import array_api_strict as strict
import numpy as np
from hypothesis import settings

import wengert as wg

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL_FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOATS = REAL_FLOATS + COMPLEX
REALS = INTEGERS + REAL_FLOATS
DTYPES = ("bool", *REALS, *COMPLEX)

NEWER = {"isin", "broadcast_shapes"}
"""What the reference implementation has beyond version 2024.12."""

NOT_FUNCTIONS = {"ArrayAPIStrictFlags", "Device"} | {
    f"{verb}_array_api_strict_flags" for verb in ("get", "set", "reset")
}

FUNCTIONS = sorted(
    name
    for name in strict.__all__
    if callable(getattr(strict, name)) and name not in NEWER | NOT_FUNCTIONS and not name.startswith("_")
)
FUNCTIONS += [f"linalg.{name}" for name in strict.linalg.__all__] + [f"fft.{name}" for name in strict.fft.__all__]

few = settings(max_examples=20)
"""For tests with Hypothesis: the same few examples each time."""


def function_of(namespace: Any, name: str) -> Any:
    """The function of this name; `linalg.inv` is `inv` of the extension `linalg`."""
    return attrgetter(name)(namespace)


def parameters(name: str) -> list[Parameter]:
    """The parameters that the standard gives to a function."""
    return list(signature(function_of(strict, name)).parameters.values())


def sample(dtype: str, shape: tuple[int, ...] = (2, 3), seed: int = 0) -> np.ndarray:
    """Moderate numbers of a dtype: no zero among the integers, so that one can divide by them and shift by them."""
    rng = np.random.default_rng((seed, len(shape)))
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if kind in "iu":
        return np.asarray(rng.integers(1, 6, shape), dtype)
    numbers = rng.uniform(0.1, 0.9, shape) * rng.choice([-1.0, 1.0], shape)
    return np.asarray(numbers + (0.3j if kind == "c" else 0), dtype)


def translated(value: Any, namespace: Any) -> Any:
    """The same argument in the words of a namespace."""
    if isinstance(value, np.ndarray | np.generic):
        return namespace.asarray(value, copy=True)
    if isinstance(value, np.dtype):
        return getattr(namespace, value.name)
    if isinstance(value, tuple | list):
        return type(value)(translated(part, namespace) for part in value)
    if isinstance(value, dict):
        return {key: translated(part, namespace) for key, part in value.items()}
    return value


def run(namespace: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function of a namespace on arguments written for none."""
    return function_of(namespace, name)(*translated(args, namespace), **translated(kwargs, namespace))


def accepts(name: str, *args: Any, **kwargs: Any) -> bool:
    """Whether the standard defines this call."""
    try:
        with np.errstate(all="ignore"):
            run(strict, name, *args, **kwargs)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def plain(x: Any) -> np.ndarray:
    """The numbers of an array of Wengert, which must be an Array and not a plain one."""
    assert isinstance(x, wg.Array), f"the result is {type(x)}, not an array of the namespace"
    return np.asarray(x)


def agree(out: Any, expected: Any, *, exact: bool = False) -> None:
    """Check a result of Wengert against one of the reference implementation: kind, dtype, shape, values."""
    if isinstance(expected, tuple | list):
        assert isinstance(out, tuple | list)
        assert len(out) == len(expected)
        for i, field in enumerate(getattr(expected, "_fields", ())):
            assert getattr(out, field) is out[i]
        for part, expected_part in zip(out, expected, strict=True):
            agree(part, expected_part, exact=exact)
    elif isinstance(expected, type(strict.float64)):
        assert out == getattr(wg, expected._np_dtype.name)
    elif hasattr(expected, "__array_namespace__"):
        same_numbers(out, np.asarray(expected), exact=exact)
    else:
        assert type(out) is type(expected)
        assert out == expected


def same_numbers(out: Any, expected: np.ndarray, *, exact: bool = False) -> None:
    """Check an array of Wengert against a plain one; `exact` compares NaN, infinities and the signs of zeros too."""
    numbers = plain(out)
    assert out.dtype == getattr(wg, expected.dtype.name), f"dtype {out.dtype}, not {expected.dtype}"
    assert out.shape == expected.shape, f"shape {out.shape}, not {expected.shape}"
    assert numbers.dtype == expected.dtype
    if exact or expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(numbers, expected)
        if expected.dtype.kind in "fc":
            for part in (np.real, np.imag):
                known = ~np.isnan(part(expected))
                np.testing.assert_array_equal(np.signbit(part(numbers))[known], np.signbit(part(expected))[known])
    else:
        rtol = 1e-5 if expected.dtype in (np.float32, np.complex64) else 1e-12
        np.testing.assert_allclose(numbers, expected, rtol=rtol, atol=rtol)


def check(name: str, *args: Any, exact: bool = False, **kwargs: Any) -> None:
    """Make a call in both namespaces and compare."""
    agree(run(wg, name, *args, **kwargs), run(strict, name, *args, **kwargs), exact=exact)
