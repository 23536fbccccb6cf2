"""`jax.numpy`: the functions of `wengert`, which follow NumPy, returning arrays of this layer."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import lift_names
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.numpy import changes, creation, ordering, products, vectorization
from wengert.compat.jax.numpy import fft as fft
from wengert.compat.jax.numpy import linalg as linalg
from wengert.core.array import Array

__getattr__ = without(__name__, ABSENT)

OPERATIONS = """
    abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis apply_over_axes arccos
    arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argwhere around array_equal
    array_equiv array_split asin asinh astype atan atan2 atanh atleast_1d atleast_2d atleast_3d average bartlett
    bincount bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
    bitwise_xor blackman block broadcast_arrays broadcast_to cbrt ceil choose clip column_stack compress concat
    concatenate conj conjugate copysign corrcoef cos cosh count_nonzero cov cross cumprod cumsum cumulative_prod
    cumulative_sum deg2rad degrees delete diag diag_indices diag_indices_from diagflat diagonal diff digitize divide
    divmod dsplit dstack ediff1d empty_like equal exp exp2 expand_dims expm1 extract fabs flatnonzero flip fliplr
    flipud float_power floor floor_divide fmax fmin fmod frexp from_dlpack fromfunction full_like gcd gradient greater
    greater_equal hamming hanning heaviside histogram histogram2d histogram_bin_edges histogramdd hsplit hstack hypot i0
    imag indices insert interp intersect1d invert isclose iscomplex isfinite isin isinf isnan isneginf isposinf isreal
    ix_ kaiser kron lcm ldexp left_shift less less_equal lexsort log log10 log1p log2 logaddexp logaddexp2 logical_and
    logical_not logical_or logical_xor mask_indices matrix_transpose matvec max maximum mean median meshgrid min minimum
    mod modf moveaxis multiply nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin
    nanpercentile nanprod nanquantile nanstd nansum nanvar negative nextafter nonzero not_equal ones_like outer packbits
    pad partition percentile permute_dims piecewise poly polyadd polyder polydiv polyfit polyint polymul polysub polyval
    positive pow power prod ptp quantile rad2deg radians ravel ravel_multi_index real reciprocal remainder repeat
    reshape resize right_shift rint roll rollaxis roots rot90 round searchsorted select setdiff1d setxor1d sign signbit
    sin sinc sinh sort_complex spacing split sqrt square squeeze stack std subtract sum swapaxes take
    take_along_axis tan tanh tile trace transpose trapezoid tril tril_indices tril_indices_from trim_zeros triu
    triu_indices triu_indices_from true_divide trunc union1d unique unique_all unique_counts unique_inverse
    unique_values unpackbits unravel_index unstack unwrap vander var vecmat vsplit vstack where zeros_like
"""
"""Operations, of `wengert`."""

QUESTIONS = "broadcast_shapes can_cast iscomplexobj isdtype isrealobj ndim result_type shape size"
"""Functions of `wengert` that return no arrays."""

PLAIN = """
    array_repr array_str dtype e einsum_path euler_gamma finfo get_printoptions iinfo index_exp inf isscalar issubdtype
    iterable nan newaxis pi printoptions promote_types s_ save savez set_printoptions
    bool_ character complexfloating floating generic inexact integer number object_ signedinteger unsignedinteger
    float16 float32 float64 double single complex64 complex128 cdouble csingle
    int8 int16 int32 int64 int_ uint8 uint16 uint32 uint64 uint
"""
"""Names of NumPy's: constants, dtypes, and functions of these."""

PARTS = (changes, creation, ordering, products, vectorization)

globals().update(lift_names(wg, OPERATIONS))
globals().update({name: getattr(wg, name) for name in QUESTIONS.split()})
globals().update({name: getattr(np, name) for name in PLAIN.split()})
for _part in PARTS:
    globals().update({name: getattr(_part, name) for name in _part.PUBLIC})
ndarray, bool, float_, complex_ = Array, np.bool_, np.float64, np.complex128

__all__ = sorted(
    [
        *OPERATIONS.split(), *QUESTIONS.split(), *PLAIN.split(), *[name for part in PARTS for name in part.PUBLIC],
        "bool", "complex_", "fft", "float_", "linalg", "ndarray",
    ]
)  # fmt: skip
