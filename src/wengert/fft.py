"""`wg.fft`: discrete Fourier transforms, by the names of `np.fft`."""

from wengert.core.namespaces import gather_names, name_functions

FAMILIES = ("modes.creation: fftfreq rfftfreq", "ops.signal.fourier")

__all__ = gather_names(globals(), FAMILIES)

__getattr__, __dir__ = name_functions(globals())
