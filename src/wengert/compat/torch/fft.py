"""`torch.fft`: Fourier transforms, with PyTorch's `dim` and `norm`."""

from __future__ import annotations

from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.torch.creation import make
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.dtypes import get_default_dtype
from wengert.compat.torch.values import layered

__getattr__ = without(__name__, ABSENT)


def along_axis(name: str) -> Any:
    """A transform along one axis."""
    transform = getattr(wg.fft, name)

    @layered
    def call(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        return transform(input, n, dim, norm)

    call.__name__, call.__doc__ = name, f"As `wg.fft.{name}`, along `dim`."
    return call


def along_axes(name: str, default: Any) -> Any:
    """A transform along several axes."""
    transform = getattr(wg.fft, name)

    @layered
    def call(input: Any, s: Any = None, dim: Any = default, norm: str | None = None) -> Any:
        return transform(input, s, dim, norm)

    call.__name__, call.__doc__ = name, f"As `wg.fft.{name}`, along `dim`."
    return call


fft, ifft, rfft, irfft, hfft, ihfft = map(along_axis, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2 = [along_axes(name, (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2")]
fftn, ifftn, rfftn, irfftn = [along_axes(name, None) for name in ("fftn", "ifftn", "rfftn", "irfftn")]
fftshift = layered(lambda input, dim=None: wg.fft.fftshift(input, dim))
ifftshift = layered(lambda input, dim=None: wg.fft.ifftshift(input, dim))


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, **options: Any) -> Any:
    """The frequencies of `fft`."""
    return make(wg.fft.fftfreq(n, d).numpy().astype(dtype or get_default_dtype()), **options)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, **options: Any) -> Any:
    """The frequencies of `rfft`."""
    return make(wg.fft.rfftfreq(n, d).numpy().astype(dtype or get_default_dtype()), **options)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
