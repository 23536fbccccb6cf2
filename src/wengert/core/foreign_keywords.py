"""Keywords and arguments of other systems, and what to write instead. `docs/coming_from.py` makes a page of it.

Functions that users of other systems call with these keywords collect what they do not know in `**foreign`.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from wengert.core.errors import user_error


class Keyword(NamedTuple):
    """What is written instead of a keyword, and who has it."""

    peers: str
    instead: str


KEYWORDS = {
    "dim": Keyword("torch", "axis"),
    "dims": Keyword("torch", "axis"),
    "keepdim": Keyword("torch", "keepdims"),
    "dim0": Keyword("torch", "axis1"),
    "dim1": Keyword("torch", "axis2"),
    "dimension": Keyword("jax.lax", "axis"),
    "unbiased": Keyword("torch", "ddof: ddof=1 is unbiased=True, and ddof=0, the default, is unbiased=False"),
    "device": Keyword("torch, jax", "x.to(device) of the arguments: results are where they are"),
    "layout": Keyword("torch", "no layout: arrays are dense"),
    "memory_format": Keyword("torch", "no memory format: the layout in memory is not specified"),
    "pin_memory": Keyword("torch", "no pin_memory: no memory is pinned"),
    "generator": Keyword("torch", "rng = wg.random.default_rng(seed), and its methods"),
    "promote_integers": Keyword("jax.numpy", "dtype"),
    "in_dims": Keyword("torch.func", "in_axes"),
    "out_dims": Keyword("torch.func", "out_axes"),
    "randomness": Keyword("torch.func", "draws of a generator in the function"),
    "argnum": Keyword("autograd", "argnums"),
    "allow_int": Keyword("jax", "floating-point arguments"),
    "donate_argnums": Keyword("jax", "nothing: temporary memory is reused"),
    "donate_argnames": Keyword("jax", "nothing: temporary memory is reused"),
    "fullgraph": Keyword("torch", "nothing: a function is always compiled as a whole"),
    "dynamic": Keyword("torch", "nothing: a function is compiled for each shape"),
    "backend": Keyword("torch, jax", "nothing: there is one compiler"),
    "inline": Keyword("jax", "nothing: compiled functions that call each other become one"),
    "use_reentrant": Keyword("torch", "nothing: there is one kind of checkpoint"),
}
"""By name."""


def refuse_keywords(foreign: dict[str, Any]) -> NoReturn:
    """Raise for keywords that the calling function does not have."""
    raise keyword_error(sys._getframe(1).f_code.co_name, next(iter(foreign)))


def keyword_error(function: str, keyword: str) -> TypeError:
    """The error for a keyword that a function does not have."""
    known = KEYWORDS.get(keyword)
    return user_error(
        TypeError,
        f"{function}() got an unexpected keyword argument {keyword!r}",
        f"It is a keyword of {known.peers}. Use {known.instead}." if known else "",
    )


def refuse_sizes(make: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> None:
    """Raise for a call of NumPy's function that makes an array, and failed: `zeros(3, 4)` or a foreign keyword."""
    name = make.__name__
    if len(args) > 1 and all(isinstance(n, int) for n in args):
        raise user_error(
            TypeError, f"{name}() takes the shape as one argument", f"Write wg.{name}({args}), not wg.{name}{args}."
        ) from error
    for keyword in kwargs.keys() & KEYWORDS.keys():
        raise keyword_error(name, keyword) from error


HAS_LOAD_METHOD = sys.version_info < (3, 12)
LOAD_METHOD = dis.opmap["LOAD_METHOD" if HAS_LOAD_METHOD else "LOAD_ATTR"]
"""The instruction that reads an attribute in order to call it. From Python 3.12 on, a bit of LOAD_ATTR says so."""
CACHE = dis.opmap.get("CACHE", 0)


def refuse_size_call(frame: FrameType) -> None:
    """Raise if the frame calls the attribute that it reads: `x.size(0)`, which Python has no useful error for.

    An integer with a `__call__` would be no plain integer to NumPy, and change the dtype of `x.sum() / x.size`.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    while code[at] == CACHE:  # of the instruction before it
        at -= 2
    if code[at] == LOAD_METHOD and (HAS_LOAD_METHOD or code[at + 1] & 1):
        raise integer_call_error()


def integer_call_error() -> TypeError:
    """The error for a call of an integer, which is `x.size` as a rule."""
    return user_error(
        TypeError,
        "'int' object is not callable: x.size is the number of elements, as in NumPy",
        "Instead of torch's x.size(0), write x.shape[0], and instead of x.size(), x.shape.",
    )
