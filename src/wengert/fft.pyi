# Written by tools/stubs.py.

from wengert.modes.creation import fftfreq as fftfreq
from wengert.modes.creation import rfftfreq as rfftfreq
from wengert.ops.signal.fourier import fft as fft
from wengert.ops.signal.fourier import fft2 as fft2
from wengert.ops.signal.fourier import fftn as fftn
from wengert.ops.signal.fourier import fftshift as fftshift
from wengert.ops.signal.fourier import hfft as hfft
from wengert.ops.signal.fourier import ifft as ifft
from wengert.ops.signal.fourier import ifft2 as ifft2
from wengert.ops.signal.fourier import ifftn as ifftn
from wengert.ops.signal.fourier import ifftshift as ifftshift
from wengert.ops.signal.fourier import ihfft as ihfft
from wengert.ops.signal.fourier import irfft as irfft
from wengert.ops.signal.fourier import irfft2 as irfft2
from wengert.ops.signal.fourier import irfftn as irfftn
from wengert.ops.signal.fourier import rfft as rfft
from wengert.ops.signal.fourier import rfft2 as rfft2
from wengert.ops.signal.fourier import rfftn as rfftn

__all__: list[str]
