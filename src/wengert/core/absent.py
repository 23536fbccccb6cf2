"""What NumPy and other systems have and Wengert has not: why, and what to use instead.

The tables of NumPy are here; a test compares both namespaces, so that each public name of NumPy is either here or in
Wengert. Those of other systems are in `torch_names.py` and `jax_names.py`, their keywords in `foreign_keywords.py`.
`docs/absent.py` and `docs/coming_from.py` make pages of them.
"""

from __future__ import annotations

import dis
import sys
from functools import cache
from importlib import import_module
from typing import NamedTuple

Ways = dict[str, str]
"""What to use instead of each name."""


class Absence(NamedTuple):
    """A reason, shared by several names, and the alternative, in which `{name}` stands for the missing name."""

    title: str
    reason: str
    instead: str
    names: str


FUNCTIONS = (
    Absence(
        "Types of numbers",
        "dtypes are those of NumPy; wg has those of the array API standard",
        "np.{name}, or the dtype of a value: x.dtype",
        """bool_ byte cdouble clongdouble common_type complex192 complex256 complexfloating csingle double dtype dtypes
        float128 float16 float96 floating generic half inexact int_ intc integer intp issubdtype long longdouble
        longlong min_scalar_type mintypecode number promote_types ScalarType sctypeDict short signedinteger single
        typecodes typename ubyte uint uintc uintp ulong ulonglong unsignedinteger ushort False_ True_""",
    ),
    Absence(
        "Strings, dates, records, objects",
        "they are not numbers, so there is nothing to differentiate",
        "np.{name} on arrays of NumPy",
        """busday_count busday_offset busdaycalendar bytes_ char character datetime64 datetime_as_string datetime_data
        flexible is_busday isnat object_ rec recarray record str_ strings timedelta64 void""",
    ),
    Absence(
        "Reading",
        "data from files, memory and strings are plain numbers",
        "wg.asarray(np.{name}(...))",
        "frombuffer fromfile fromiter fromregex fromstring genfromtxt load loadtxt memmap",
    ),
    Absence(
        "Writing",
        "files contain plain numbers",
        "np.{name} on x.detach().numpy()",
        "save savetxt savez savez_compressed",
    ),
    Absence(
        "Printing",
        "NumPy prints the numbers of a value, with its own settings",
        "print(x), or np.{name} on x.detach().numpy()",
        """array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific
        get_printoptions printoptions set_printoptions""",
    ),
    Absence(
        "Layout in memory",
        "the memory layout of a value is not specified, and operations may share memory or not",
        "wg.asarray(x), or np.{name} on x.detach().numpy()",
        "asanyarray ascontiguousarray asfortranarray getbufsize isfortran may_share_memory require setbufsize "
        "shares_memory",
    ),
    Absence(
        "A Python function for each element",
        "NumPy would call it on plain numbers, one by one, and the derivative would be lost",
        "wg.vmap(f), which runs it on all at once",
        "frompyfunc vectorize",
    ),
    Absence(
        "Iterators",
        "they give plain numbers",
        "a loop over x.flat, or zip(np.ndindex(x.shape), x.flat)",
        "flatiter nditer ndenumerate nested_iters",
    ),
    Absence(
        "Nothing to differentiate",
        "it does not use the numbers of a value, so NumPy's function can be used",
        "np.{name}",
        """broadcast errstate euler_gamma exceptions geterr geterrcall index_exp iterable isscalar little_endian mgrid
        ndindex ogrid s_ seterr seterrcall""",
    ),
    Absence(
        "Joining by indexing",
        "NumPy would make plain arrays of its parts",
        "wg.concatenate, wg.stack or wg.column_stack",
        "c_ r_",
    ),
    Absence(
        "Matrix objects", "NumPy advises against them", "arrays of two axes, x @ y and wg.block", "asmatrix bmat matrix"
    ),
    Absence(
        "Polynomials as objects",
        "they compute with plain coefficients",
        "wg.polyval, wg.polyfit, wg.roots and their like, on arrays of coefficients",
        "poly1d polynomial",
    ),
    Absence(
        "Masked arrays",
        "a value has no mask",
        "wg.where(mask, x, 0), or the functions that leave NaNs out: wg.nansum ...",
        "ma",
    ),
    Absence(
        "Real in, complex out",
        "the dtype of its result depends on the numbers",
        "wg.sqrt(wg.astype(x, complex)), and so on",
        "emath",
    ),
    Absence("The order of an einsum", "wg.einsum chooses the order", "wg.einsum(..., optimize=True)", "einsum_path"),
    Absence(
        "Checked input",
        "you can check a value yourself",
        "wg.asarray(x), and wg.isfinite(x).all()",
        "asarray_chkfinite",
    ),
    Absence("Deprecated", "NumPy has deprecated it", "wg.vstack", "row_stack"),
    Absence(
        "NumPy itself",
        "it concerns NumPy as a package, its internals, or its array type",
        "np.{name}; the types of values are wg.Array and wg.Tensor",
        "ctypeslib f2py get_include info lib ndarray show_config show_runtime test testing typing ufunc",
    ),
)
"""Of `np`."""

METHODS = (
    Absence(
        "Layout in memory",
        "the memory layout of a value is not specified",
        "x.detach().numpy().{name}",
        "base byteswap ctypes flags getfield setfield setflags strides",
    ),
    Absence(
        "The same memory as another dtype",
        "a value has one dtype",
        "x.astype(dtype), or x.detach().numpy().view(dtype)",
        "view",
    ),
    Absence(
        "Writing", "files contain plain numbers", "x.detach().numpy().{name}, or pickle of a leaf", "dump dumps tofile"
    ),
    Absence("Another size in place", "a value keeps its shape", "wg.resize(x, shape), which makes a new one", "resize"),
)
"""Of `np.ndarray`, without those that begin with an underscore."""

NAMESPACES = {"np": FUNCTIONS, "np.ndarray": METHODS}
"""Of `np.linalg` and `np.fft`, nothing is missing."""

PEERS = {
    "wengert": ("torch", "jax", "jax.numpy", "jax.lax", "autograd", "sympy", "casadi"),
    "wengert.autograd": ("torch.autograd", "autograd"),
    "wengert.data": ("torch.utils.data",),
    "wengert.linalg": ("torch.linalg",),
    "wengert.nn": ("torch.nn",),
    "wengert.nn.functional": ("torch.nn.functional", "jax.nn"),
    "wengert.optim": ("torch.optim",),
    "wengert.random": ("jax.random",),
    "wengert.special": ("torch.special",),
    "values": ("torch.Tensor", "jax.Array"),
}
"""The namespaces of other systems whose names users look for in one of Wengert; `values` stands for attributes."""


def each(instead: str, names: str) -> Ways:
    """The same for several names, in which `{name}` stands for the name, and `{stem}` for it without `_` at its end.

    >>> each("wg.{name}(x)", "sin cos")
    {'sin': 'wg.sin(x)', 'cos': 'wg.cos(x)'}
    """
    return {name: instead.format(name=name, stem=name.rstrip("_")) for name in names.split()}


@cache
def _by_name(namespace: str) -> dict[str, Absence]:
    return {name: group for group in NAMESPACES.get(namespace, ()) for name in group.names.split()}


def absent(namespace: str) -> list[str]:
    """The names that a namespace of NumPy has and Wengert has not."""
    return list(_by_name(namespace))


def why_absent(name: str) -> str | None:
    """The reason why `np.name` is not in Wengert, and the alternative; None if there is none to give.

    >>> why_absent("np.row_stack")
    'NumPy has deprecated it. Use wg.vstack.'
    """
    namespace, _, last = name.rpartition(".")
    group = _by_name(namespace).get(last)
    return group and f"{group.reason[0].upper()}{group.reason[1:]}. Use {group.instead.format(name=last)}."


@cache
def ways(namespace: str) -> Ways:
    """What to use instead of the names of a namespace of another system.

    >>> ways("torch")["cat"]
    'wg.concatenate(xs, axis=0)'
    """
    tables = import_module(f"wengert.core.{'torch' if namespace.startswith('torch') else 'jax'}_names").TABLES
    return {name: way for group in tables[namespace].values() for name, way in group.items()}


def advice(here: str, name: str) -> str:
    """What to use instead of a name of other systems that a namespace of Wengert does not have; empty if none has it.

    >>> advice("wengert", "jit")
    ' For torch.jit, use wg.compile(f).'
    """
    sentences: dict[str, str] = {}  # one for each way
    for namespace in PEERS.get(here, ()):
        if name in ways(namespace):
            way = ways(namespace)[name]
            sentences.setdefault(way, f" For {namespace}.{name}, use {way}.")
    return "".join(sentences.values())


def missing(module: str, name: str, namespace: str = "") -> AttributeError | ImportError:
    """The error for a name that a module does not have; `namespace` is that of NumPy with the same purpose.

    For `from wengert import jit` it is an ImportError, because Python would replace an AttributeError by its own.
    """
    frame = sys._getframe(2)
    is_import = dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"
    what = f"cannot import name {name!r} from" if is_import else "module"
    what += f" {module!r}" if is_import else f" {module!r} has no attribute {name!r}"
    why, peers = why_absent(f"{namespace}.{name}"), advice(module, name)
    what += f", which is in {namespace}. {why}" if why else "." if peers else ""
    error = (ImportError if is_import else AttributeError)(what + peers)
    if why or peers:
        error.name = name  # so that Python does not suggest a similar name
    return error
