"""`wg.fft`: discrete Fourier transforms, by the names of `np.fft`."""

from wengert.core.namespaces import gather_names

FAMILIES = ("modes.creation: fftfreq rfftfreq", "ops.signal.fourier")

__all__ = gather_names(globals(), FAMILIES)


def __dir__() -> list[str]:
    return __all__
