"""`torch.autograd.Function`: an operation with a hand-written derivative, whose methods get PyTorch's tensors."""

from __future__ import annotations

from typing import Any

from wengert.autograd import Function as EngineFunction
from wengert.autograd import once_differentiable as engine_once_differentiable
from wengert.compat.torch.values import adopt, hand_in, plain
from wengert.core.errors import user_error

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What `forward` leaves for `backward`: the context of the engine, whose tensors are PyTorch's."""

    __slots__ = ("_engine",)

    def __init__(self, engine: Any):
        object.__setattr__(self, "_engine", engine)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given."""
        return tuple(hand_in(list(self._engine.saved_tensors)))

    def __getattr__(self, name: str) -> Any:
        return hand_in(getattr(self._engine, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._engine, name, value)


class Function:
    """Base class of operations with a hand-written derivative. Subclass it, and call `.apply(...)`.

    `forward` may take the context as its first argument, or leave it to `setup_context(ctx, inputs, output)`.

    >>> import wengert.compat.torch as torch
    >>> class Cube(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return 3 * ctx.saved_tensors[0] ** 2 * grad
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    _engine: type[EngineFunction]
    setup_context: Any = None

    def __init__(self, *_: Any, **__: Any):
        raise user_error(TypeError, f"A Function is not instantiated: call {type(self).__name__}.apply(...)")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)

        def forward(ctx: Any, *args: Any, **options: Any) -> Any:
            context, given = FunctionCtx(ctx), adopt(args)
            if cls.setup_context is None:
                return cls.forward(context, *given, **options)
            output = cls.forward(*given, **options)
            cls.setup_context(context, given, output)
            return output

        def backward(ctx: Any, *grad_outputs: Any) -> Any:
            return plain(cls.backward(FunctionCtx(ctx), *hand_in(grad_outputs)))

        cls._engine = type(
            cls.__name__, (EngineFunction,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results; a subclass defines this."""
        raise NotImplementedError("A Function needs a static method forward(ctx, ...).")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the arguments, given those of the results; a subclass defines this."""
        raise NotImplementedError("A Function needs a static method backward(ctx, *grad_outputs) to be differentiated.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and record it if an argument requires a gradient."""
        return adopt(cls._engine.apply(*plain(args), **plain(kwargs)))


def once_differentiable(backward: Any) -> Any:
    """Decorator for a backward that is not differentiable: second derivatives raise an error."""
    marked = engine_once_differentiable(lambda ctx, *grads: backward(FunctionCtx(ctx), *hand_in(grads)))
    return lambda ctx, *grads: marked(ctx._engine, *plain(grads))
