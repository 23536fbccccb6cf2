"""Switches of recording, per context (`contextvars`): context managers and decorators, of generators too."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from wengert.core.errors import GradientError, user_error
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.tensor import Tensor, as_tensor

DISGUISED = frozenset(("contextlib", "_pytest.fixtures"))
"""Modules that run generators as context managers: what these switch is meant for the code in the `with` block."""


def generator_of(frame: FrameType | None) -> FrameType | None:
    """The frame of the generator that enters or leaves a block in this frame, and may be suspended inside it, or None.

    A block in a function under `contextlib.contextmanager` belongs to the code in the `with` block of that function.
    """
    while frame is not None:
        is_generator = bool(frame.f_code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR))
        is_disguised = frame.f_back is not None and frame.f_back.f_globals.get("__name__") in DISGUISED
        if is_generator and not is_disguised:
            return frame
        if not is_generator and frame.f_globals.get("__name__") not in (__name__, *DISGUISED):
            return None
        frame = frame.f_back
    return None


class Switch:
    """Settings of recording inside a block.

    May be entered again inside itself, and by several threads, tasks and generators.
    """

    def __init__(self, **settings: Any):
        self.settings = settings
        self.blocks: list[recording.Block] = []  # open ones, of all contexts

    def __enter__(self) -> None:
        self.blocks.append(recording.enter(recording.Block(self.settings, generator_of(sys._getframe(1)))))

    def __exit__(self, *exc: Any) -> None:
        generator = generator_of(sys._getframe(1))
        blocks = self.open_blocks() or self.blocks
        block = next((b for b in reversed(blocks) if b.generator is generator), blocks[-1])
        self.blocks.remove(block)
        recording.leave(block)

    def open_blocks(self) -> list[recording.Block]:
        """The open blocks of this context."""
        known = recording.blocks_here()
        return [block for block in self.blocks if block in known]

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, run inside this context."""
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise user_error(
                TypeError,
                f"{type(self).__name__} cannot decorate the asynchronous {function.__name__}",
                "Use `with` inside it.",
            )
        settings = self.settings

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with Switch(**settings):
                return function(*args, **kwargs)

        @functools.wraps(function)
        def generator_wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return run_generator(function(*args, **kwargs), settings)

        return generator_wrapper if inspect.isgeneratorfunction(function) else wrapper


def run_generator(generator: Generator[Any, Any, Any], settings: dict[str, Any]) -> Generator[Any, Any, Any]:
    """A generator whose steps run with these settings, while the code between them does not."""
    step: Callable[..., Any] = generator.send
    value: Any = None
    while True:
        with Switch(**settings):
            try:
                item = step(value)
            except StopIteration as end:
                return end.value
        try:
            step, value = generator.send, (yield item)
        except GeneratorExit:
            with Switch(**settings):
                generator.close()
            raise
        except BaseException as error:
            step, value = generator.throw, error


class _Bare(Switch):
    """A switch without arguments: `@no_grad` means `@no_grad()`."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if function is None else cls()(function)


class no_grad(_Bare):
    """Record nothing: values computed inside have no history.

    >>> x = Tensor(np.float64(2.0)).requires_grad_()
    >>> with no_grad():
    ...     (x * x).requires_grad
    False
    """

    def __init__(self) -> None:
        super().__init__(enabled=False)


class enable_grad(_Bare):
    """Record again, inside `no_grad`.

    >>> with no_grad(), enable_grad():
    ...     is_grad_enabled()
    True
    """

    def __init__(self) -> None:
        super().__init__(enabled=True)


class set_grad_enabled(Switch):
    """Switch recording on or off: at once, and until the end of the block if it is used as a context manager.

    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    """

    def __init__(self, mode: bool):
        super().__init__(enabled=bool(mode))
        self.before = recording.current().enabled
        self.lasting = recording.switch(enabled=bool(mode))

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if not self.open_blocks():
            self._undo()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self._undo()
        return super().__call__(function)

    def _undo(self) -> None:
        """Undo, in the context that made this object, what making it switched."""
        if self.lasting in recording.blocks_here():
            recording.leave(self.lasting)
            recording.switch(enabled=self.before)


class inference_mode(Switch):
    """Record nothing, not even inside `enable_grad`.

    >>> with inference_mode(), enable_grad():
    ...     is_grad_enabled()
    False
    """

    def __new__(cls, mode: Any = True) -> Any:
        return cls()(mode) if callable(mode) else super().__new__(cls)

    def __init__(self, mode: bool = True):
        super().__init__(inference=bool(mode))


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this context.

    >>> is_grad_enabled()
    True
    """
    return recording.is_recording()


class detect_anomaly(Switch):
    """Store the source line of each recorded operation; raise at the first backward that gives a NaN, naming the line.

    With `check_nan=False`, only errors inside a backward name the source line.

    >>> x = Tensor(np.float64(0.0)).requires_grad_()
    >>> with detect_anomaly():
    ...     (x * x).backward()
    >>> x.grad
    tensor(0.)
    """

    def __init__(self, check_nan: bool = True):
        super().__init__(anomalies=True, check_nan=bool(check_nan))


class saved_tensors_hooks(Switch):
    """Keep what the tape saves in another form.

    `pack(tensor)` is called when a value is saved, `unpack` of its result when the value is needed.

    >>> x = Tensor(np.float64(3.0)).requires_grad_()
    >>> with saved_tensors_hooks(lambda t: t.astype(np.float16), lambda half: half.astype(float)):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Any]):
        super().__init__(packing=(functools.partial(pack_saved, pack, unpack), unpack_saved))


class Packed(NamedTuple):
    """A saved value in the user's form, with what restores it."""

    form: Any
    unpack: Callable[..., Any]
    spec: Spec


def pack_saved(pack: Callable[..., Any], unpack: Callable[..., Any], saved: Any) -> Any:
    """What a node saves, with packed arrays, also in the tuple of a variable number of arguments; specs stay."""
    if isinstance(saved, np.ndarray | np.generic):
        return Packed(pack(Tensor(saved)), unpack, Spec.of(saved))
    if type(saved) is tuple:
        return tuple(pack_saved(pack, unpack, part) for part in saved)
    return saved


def unpack_saved(saved: Any) -> Any:
    """The inverse of `pack_saved`; values are cast back to their dtype."""
    if type(saved) is tuple:
        return tuple(map(unpack_saved, saved))
    if not isinstance(saved, Packed):
        return saved
    value = as_tensor(saved.unpack(saved.form)).value
    if value.shape != saved.spec.shape:
        raise user_error(
            GradientError,
            f"saved_tensors_hooks: `unpack` returned shape {value.shape} for a saved value of shape {saved.spec.shape}",
            "It must give back what `pack` was given.",
        )
    return value.astype(saved.spec.dtype, copy=False)
