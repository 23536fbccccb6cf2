"""Array: the base of every value that flows through user code in place of a plain array.

Operators and methods are those of `numpy.ndarray`; `ops/methods.py` attaches them, because they are operations of the
table. Through NumPy's protocols, plain NumPy code runs on an Array: what the table knows goes there, what it does not
know is an error, never a silent conversion that would lose the gradient.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wengert.core.absent import absent, why_absent
from wengert.core.assignment import is_assignment, raise_in
from wengert.core.errors import TrackedValueError, library_call, refuse_out, user_error

if TYPE_CHECKING:
    from wengert.core.primitive import Primitive

__all__ = ["Array"]

Implementation = TypeVar("Implementation", bound=Callable)

UFUNCS: dict[np.ufunc, Callable] = {}
"""What runs when a NumPy ufunc is called on an Array."""

UFUNC_METHODS: dict[tuple[np.ufunc, str], Callable] = {}
"""The same for `np.add.reduce` and its like."""

SCIPY_UFUNCS: dict[str, Callable] = {}
"""What runs when a ufunc of `scipy.special` of this name is called on an Array: by name, so that SciPy need not be
imported.
"""

FUNCTIONS: dict[Callable, Callable] = {}
"""What runs when any other NumPy function is called on an Array."""

NO_PARAMS: dict[str, Any] = {}

FAMILIES = ("fft", "integrate", "linalg", "optimize", "random", "signal", "special", "stats")
"""Modules of SciPy that have a counterpart here, by the same name."""

INTERNALS = frozenset(
    ("extra", "has_derivative", "is_live", "level", "node", "process", "process_binary", "process_unary", "value")
)
"""Attributes of values that are for the engine."""

STANDARDS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The versions of the array API standard that the package follows."""


def implements(*functions: Callable) -> Callable[[Implementation], Implementation]:
    """Make the decorated function run when one of these NumPy functions is called on an Array."""

    def decorate(function: Implementation) -> Implementation:
        for original in functions:
            table: dict = UFUNCS if isinstance(original, np.ufunc) else FUNCTIONS
            table[original] = function
        return function

    return decorate


class Array:
    """A value of some mode: a level, a payload (a plain array or an Array of a lower level), and what its mode adds to
    them.

    All modes share this layout, so that assignment in place can turn a value of one mode into one of another: `y[0] =
    x` in an array `y` of plain zeros makes `y` what `x` is.

    >>> import wengert as wg
    >>> x = wg.tensor([1.0, 2.0])
    >>> isinstance(x, Array), x.shape
    (True, (2,))
    """

    __slots__ = ("__weakref__", "_changes", "_grad", "extra", "level", "value")
    __array_priority__ = 1000
    __pandas_priority__ = 10_000  # columns and tables leave their operators to values, as arrays do
    __hash__ = object.__hash__

    level: int
    value: Any
    extra: Any
    _changes: int

    if TYPE_CHECKING:  # attached by ops/methods.py

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any, /) -> Any: ...
        def __radd__(self, other: Any, /) -> Any: ...
        def __sub__(self, other: Any, /) -> Any: ...
        def __rsub__(self, other: Any, /) -> Any: ...
        def __mul__(self, other: Any, /) -> Any: ...
        def __rmul__(self, other: Any, /) -> Any: ...
        def __truediv__(self, other: Any, /) -> Any: ...
        def __rtruediv__(self, other: Any, /) -> Any: ...
        def __floordiv__(self, other: Any, /) -> Any: ...
        def __mod__(self, other: Any, /) -> Any: ...
        def __pow__(self, other: Any, /) -> Any: ...
        def __rpow__(self, other: Any, /) -> Any: ...
        def __matmul__(self, other: Any, /) -> Any: ...
        def __rmatmul__(self, other: Any, /) -> Any: ...
        def __neg__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __lt__(self, other: Any, /) -> Any: ...
        def __le__(self, other: Any, /) -> Any: ...
        def __gt__(self, other: Any, /) -> Any: ...
        def __ge__(self, other: Any, /) -> Any: ...
        def __getitem__(self, key: Any, /) -> Any: ...
        def __iter__(self) -> Iterator: ...

    # How a mode runs operations.

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple, params: dict[str, Any]) -> Any:
        """Run an operation in this value's mode; `level` is the highest among `args`."""
        raise NotImplementedError  # each mode defines it

    @classmethod
    def process_unary(cls, primitive: Primitive, level: int, x: Any) -> Any:
        return cls.process(primitive, level, (x,), NO_PARAMS)

    @classmethod
    def process_binary(cls, primitive: Primitive, level: int, x: Any, y: Any) -> Any:
        return cls.process(primitive, level, (x, y), NO_PARAMS)

    # What every array has.

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def size(self) -> int:
        return self.value.size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def is_live(self) -> bool:
        """Whether a derivative may flow through this value at its own level: integers and booleans have none in any
        mode.
        """
        return self.dtype.kind in "fc"

    @property
    def has_derivative(self) -> bool:
        """Whether a derivative may flow through this value, at its own level or below."""
        return self.is_live or (isinstance(self.value, Array) and self.value.has_derivative)

    def __dir__(self) -> list[str]:
        """The public attributes, for tab completion."""
        hidden = INTERNALS.union(absent("np.ndarray"))
        names = [name for name in super().__dir__() if name not in hidden]
        return [name for name in names if not name.startswith("_") or name.startswith("__")]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self.value)

    # Becoming plain numbers, which only a value without a derivative can: then the numbers at the bottom are all there
    # is to it.

    def _plain(self, what: str) -> np.ndarray:
        if self.is_live:
            raise user_error(
                TrackedValueError,
                f"{what} would turn a {type(self).__name__} that is being differentiated into plain numbers and lose "
                f"its derivative",
                f"{own_function() or 'Use an operation of wengert or NumPy instead (wg.stack for a list of values)'}, "
                f"or wg.stop_gradient(x) (x.detach() of a tensor) where no derivative should flow.",
            )
        value = self.value
        return value._plain(what) if isinstance(value, Array) else value

    # To look at, a number is free: nothing can be computed with its text, and `item` and `tolist` say what they do.

    def item(self, *index: Any) -> Any:
        """The number, for arrays of one element, or at an index: without its derivative."""
        return self.value.item(*index)

    def tolist(self) -> Any:
        """The numbers in nested lists, without their derivatives."""
        return self.value.tolist()

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.size == 1 else format(repr(self), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        plain = np.asarray(self._plain("Conversion to an ndarray"))
        if copy or dtype not in (None, plain.dtype):
            return np.array(plain, dtype=dtype)
        view = plain.view()
        view.flags.writeable = False
        return view

    def __float__(self) -> float:
        return float(self._number("float(x), or a function of the math module,", sys._getframe(1)))

    def __int__(self) -> int:
        return int(self._number("int(x)", sys._getframe(1)))

    def __complex__(self) -> complex:
        return complex(self._number("complex(x)", sys._getframe(1)))

    def _number(self, what: str, frame: FrameType) -> np.ndarray:
        """The number, for a frame that asks for it; NumPy does so to assign it to an element of a plain array."""
        try:
            return self._plain(what)
        except TrackedValueError:
            if not is_assignment(frame):
                raise
        try:
            return self._plain(
                "Assignment to an element of a plain ndarray (make it by wg.zeros, or by np.zeros_like(x), to hold "
                "such values)"
            )
        except TrackedValueError as error:
            raise_in(frame, error)
            raise

    def __index__(self) -> int:
        return self._plain("Use as an index").__index__()

    # The array API standard: code that asks a value for its namespace gets this package.

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        if api_version not in (None, *STANDARDS):
            raise ValueError(
                f"Wengert follows the versions {', '.join(STANDARDS)} of the array API standard, not {api_version!r}."
            )
        return sys.modules["wengert"]

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        check_device(device)
        if stream is not None:
            raise ValueError("The device 'cpu' has no streams: leave `stream` away.")
        return self

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """For `np.from_dlpack(x)` and its like. Consumers that do not know of read-only memory get a copy."""
        plain = self.__array__(copy=copy or max_version is None or max_version < (1, 0) or None)
        return plain.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.empty(0).__dlpack_device__()

    # Changing in place: recorded as a functional update, after which this object stands for the new value.

    def _rebind(self, new: Array) -> None:
        if not isinstance(new, Array):
            raise user_error(
                TrackedValueError,
                f"A {type(self).__name__} was changed in place under no_grad",
                because="its derivative would not be that of its numbers any more. Make a new value instead, or assign "
                "outside of no_grad.",
            )
        if new.shape != self.shape:
            raise user_error(ValueError, f"An operation in place cannot change the shape {self.shape} to {new.shape}")
        if new.dtype != self.dtype:
            if not np.can_cast(new.dtype, self.dtype, "same_kind"):
                raise user_error(
                    TypeError, f"An operation in place cannot change the dtype {self.dtype} to {new.dtype}"
                )
            new = new.astype(self.dtype)
        self._become(new)

    @property
    def _version(self) -> int:
        """How often this value was changed in place."""
        return getattr(self, "_changes", 0)

    def _become(self, new: Array) -> None:
        self.__class__ = new.__class__
        self.level, self.value, self.extra = new.level, new.value, new.extra

    def _update(self, function: Callable, ufunc: np.ufunc | None, v: Any) -> None:
        """`x += v`; where possible by a NumPy function that can write into x."""
        self._rebind(function(self, v))

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.pop("out", None) is not None:
            raise user_error(
                TypeError,
                f"np.{ufunc.__name__} cannot write its result into a plain ndarray (`a += x`, or `out=`) when an "
                f"operand is a {type(self).__name__}",
                "Write `a = a + x` instead, or make `a` a wg.tensor.",
            )
        target = UFUNCS.get(ufunc) or of_scipy(ufunc) if method == "__call__" else UFUNC_METHODS.get((ufunc, method))
        if target is None:
            raise unknown(f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}"))
        dtype = kwargs.pop("dtype", None)
        if method == "__call__" and kwargs and not ufunc.signature:
            raise user_error(
                TypeError, f"np.{ufunc.__name__} on a {type(self).__name__} does not take {', '.join(kwargs)}"
            )
        result = target(*inputs, **kwargs)
        return result if dtype is None else result.astype(dtype)

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        target = FUNCTIONS.get(function)
        if target is None:
            raise unknown(f"{function.__module__.replace('numpy', 'np')}.{function.__name__}")
        if kwargs:
            refuse_out(kwargs.pop("out", None))
            args, kwargs = in_order(function, target, args, kwargs)
        return target(*args, **kwargs)


@cache
def _in_front(function: Callable, target: Callable) -> tuple[str, ...]:
    """NumPy's names of the arguments that the table's function takes by their place."""
    places = [p for p in inspect.signature(target).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    try:
        return tuple(inspect.signature(function).parameters)[: len(places)]
    except ValueError:  # a function written in C that has no signature has no names
        return ()


def in_order(function: Callable, target: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments of a NumPy function with those in front in their places: `np.sum(a=x)` becomes `sum(x)`."""
    for name in _in_front(function, target)[len(args) :]:
        if name not in kwargs:
            break
        args = (*args, kwargs.pop(name))
    return args, kwargs


def own_function() -> str | None:
    """What to use in place of a function of NumPy or SciPy that is about to lose a derivative: the one of its name, or
    its module.
    """
    call = library_call()
    if call is None:
        return None
    module, name = call
    family = module.partition(".")[2].partition(".")[0]
    space = getattr(sys.modules["wengert"], family, None) if family in FAMILIES else sys.modules["wengert"]
    where = f"wg.{family}" if family in FAMILIES else "wg"
    if hasattr(space, name):
        return f"This was {module}.{name}; use {where}.{name} instead"
    return f"This was in {module}; use what {where} has instead" if family in FAMILIES else None


def check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise user_error(ValueError, f"There is no device {device!r}", because="arrays are on 'cpu'.")


def of_scipy(ufunc: np.ufunc) -> Callable | None:
    """What runs for a ufunc of `scipy.special`, entered among the others when it is first met."""
    own = getattr(sys.modules.get("scipy.special._ufuncs"), ufunc.__name__, None)
    target = SCIPY_UFUNCS.get(ufunc.__name__) if own is ufunc else None
    if target is not None:
        UFUNCS[ufunc] = target
    return target


def unknown(name: str) -> TypeError:
    """The error for a NumPy function that the table does not have."""
    instead = why_absent(name) or (
        "Write it with operations that are, or call x.detach().numpy() first if no gradient should flow through it."
    )
    return user_error(TypeError, f"{name} is not in Wengert's table of operations", instead)
