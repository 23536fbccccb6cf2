"""Functions of Python's that programs call: `jax.debug.print`, `jax.debug.callback` and `jax.pure_callback`.

Eager code calls them at once. In a compiled function they are operations that NumPy's side runs; what returns nothing
is attached to the checks of the program, so that it runs exactly if the program does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from wengert.compat.jax.arrays import to_array, to_arrays
from wengert.control.checks import Failure
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.definition import Definition
from wengert.core.errors import GradientError, user_error, user_line
from wengert.core.levels import iterate_payloads
from wengert.core.primitive import Primitive, as_operand
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.symbolic import Symbol
from wengert.transforms.products import stop_gradient

PUBLIC = ["pure_callback"]


def run_back(*x: Any, function: Callable[..., Any], spec: Spec) -> np.ndarray:
    """The result of a function of Python's, which must be what it promised."""
    out = np.asarray(function(*x))
    if out.shape != spec.shape:
        raise ValueError(f"A callback returned an array of shape {out.shape}, and promised {spec.shape}")
    return out.astype(spec.dtype)


def refuse_derivative(t: Any) -> NoReturn:  # noqa: ARG001  # of any cotangent
    """Raise an error: nothing is known of a function of Python's."""
    raise user_error(
        GradientError,
        "pure_callback has no derivative",
        "Wrap it in jax.custom_jvp, or call it with lax.stop_gradient.",
    )


CALL_BACK = Primitive(
    Definition(
        name="call_back",
        impl=run_back,
        kind="general",
        inputs=("*x",),
        takes_params=True,
        vjp=refuse_derivative,
        jvps=(refuse_derivative,),
        spec=lambda *x, function, spec: spec,
    )
)


def pure_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, vmap_method: str | None = None, **kwargs: Any
) -> Any:
    """The result of a function of NumPy's arrays, which has one array of the shape and dtype that are given.

    >>> from wengert.compat.jax.compilation import ShapeDtypeStruct, jit
    >>> jit(lambda x: pure_callback(np.cbrt, ShapeDtypeStruct((), float), x))(8.0)
    Array(2., dtype=float64)
    """
    specs, structure = tree.flatten(result_shape_dtypes)
    if len(specs) != 1 or vmap_method not in (None, "sequential"):
        raise user_error(NotImplementedError, "pure_callback has one result, and vmap_method='sequential', here")
    values = [to_array(as_operand(a)) for a in args]
    spec = Spec(tuple(specs[0].shape), np.dtype(specs[0].dtype))
    out = CALL_BACK.op(*values, function=lambda *x: callback(*x, **kwargs), spec=spec)
    return tree.unflatten(structure, [to_arrays(out)])


def call_with(function: Callable[..., None], values: Any) -> None:
    """Call a function with a tree of values: at once, or when the program runs that is being traced."""
    leaves, structure = tree.flatten(values)
    arrays = [stop_gradient(leaf) if isinstance(leaf, Array) else leaf for leaf in leaves]
    traced = [i for i, a in enumerate(arrays) if any(isinstance(p, Symbol) for p in iterate_payloads(a))]
    if not traced:
        function(tree.unflatten(structure, [getattr(a, "value", a) for a in arrays]))
        return
    trace = recording.current_trace()
    if trace is None or trace.is_held:
        raise user_error(
            NotImplementedError,
            "jax.debug in the body of a loop, or in a branch, of a compiled function",
            "Return the value as an output, or leave out jit.",
        )

    def run(*numbers: Any) -> np.ndarray:
        known = dict(zip(traced, numbers, strict=True))
        function(tree.unflatten(structure, [known.get(i, a) for i, a in enumerate(arrays)]))
        return np.array(True)

    done = CALL_BACK.op(*[strip_to_symbol(arrays[i]) for i in traced], function=run, spec=Spec((), np.dtype(bool)))
    trace.checks.append((done.node, Failure(RuntimeError, ("a callback failed",), user_line())))


def strip_to_symbol(value: Any) -> Any:
    """The symbol inside a value of transforms within a trace; a batch is given as a whole."""
    return next(p for p in iterate_payloads(value) if isinstance(p, Symbol))
