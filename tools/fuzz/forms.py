"""The expressions of random programs, one a line: `v`, `w`, `x`, `y` stand for values in scope, the rest is filled in
by the statement.
"""

from __future__ import annotations

ARITHMETIC = [
    "{x} + {y}",
    "{x} - {y}",
    "{x} * {y}",
    "{x} * {y} - {x}",
    "{x} / (2.5 + np.abs({y}))",
    "-{x} + {y} * 0.5",
    "{y} * {x} * {x}",
]
"""Of two values, either of which may be a constant."""

CONDITIONS = [
    "{x} > 0.1",
    "{x} <= {y}",
    "np.abs({x}) < 0.8",
    "({x} > 0) & ({y} < 1)",
    "~({x} > {y})",
    "np.isfinite({x})",
]
"""Of two real values."""

CHOICES = [
    "np.where({c}, {z}, {y})",
    "wg.where({c}, {z} * 2, 0.5)",
    "wg.select([{c}], [{z}], {y})",
    "np.clip({y}, -0.5, 0.75)",
    "np.maximum({x}, {y})",
    "np.where({c}, {z}, np.sqrt(np.abs({y}) + 0.1))",
]
"""Of a condition and three values."""

REDUCTIONS = [
    "np.sum",
    "np.mean",
    "np.var",
    "np.std",
    "np.prod",
    "np.max",
    "np.min",
    "np.ptp",
    "np.median",
    "np.nansum",
    "np.nanmean",
    "np.nanmax",
    "np.average",
    "wg.logsumexp",
    "np.linalg.norm",
    "np.nanvar",
    "np.nanprod",
]
"""Functions with an axis and keepdims."""

METHODS = [
    "{v}.sum()",
    "{v}.mean(axis=-1)",
    "{v}.T",
    "{v}.ravel()",
    "{v}.real",
    "{v}.imag",
    "{v}.conj()",
    "{v}.flatten()",
    "{v}.reshape(-1, 1)",
    "{v}.cumsum()",
    "{v}.squeeze()",
    "{v}.prod()",
    "{v}.std(axis=0)",
    "{v}.max(axis=-1)",
    "{v}.round(1)",
    "{v}.copy()",
    "{v}.swapaxes(0, -1)",
    "{v}.diagonal()",
    "{v}.trace()",
    "{v}.repeat(2)",
]
"""Of one value."""

SHAPES = [
    "np.reshape({v}, -1)",
    "np.reshape({v}, (-1, 1))",
    "np.transpose({v})",
    "np.expand_dims({v}, {axis})",
    "np.squeeze({v})",
    "np.ravel({v})",
    "np.ravel({v}, order='F')",
    "np.concatenate([{v}, {v}], axis={axis})",
    "np.concatenate([np.ravel({v}), np.ravel({w})])",
    "np.stack([{v}, {v} * 2], axis={axis})",
    "np.tile({v}, 2)",
    "np.repeat({v}, 2, axis={axis})",
    "np.roll({v}, {k}, axis={axis})",
    "np.roll({v}, {k})",
    "np.flip({v}, axis={axis})",
    "np.rot90({v})",
    "np.pad({v}, 1)",
    "np.pad({v}, 1, mode='edge')",
    "np.pad({v}, 1, mode='reflect')",
    "np.pad({v}, 1, mode='wrap')",
    "np.tril({v}, {k})",
    "np.triu({v}, {k})",
    "np.diag({v})",
    "np.diagonal({v}, {k})",
    "np.broadcast_to({v}, (2, *{shape}))",
    "np.moveaxis({v}, 0, -1)",
    "np.swapaxes({v}, 0, -1)",
    "np.atleast_2d({v})",
    "np.split({v}, [1], axis={axis})[1]",
    "np.append({v}, {w})",
    "np.insert({v}, 0, 0.5)",
    "np.delete({v}, 0)",
    "np.hstack([{v}, {v}])",
    "np.vstack([{v}, {w}])",
    "np.column_stack([{v}, {v}])",
    "np.meshgrid({v}, {w})[0]",
    "np.array_split({v}, 2)[0]",
    "wg.unstack({v})[-1]",
    "np.block([[np.atleast_2d({v}), np.atleast_2d({v})]])",
    "np.resize({v}, (2, 3))",
    "np.full_like({v}, 0.5) + {v}",
    "np.zeros_like({v}) - {w}",
    "np.diagflat({v})",
]
"""Other arrangements of one or two values."""

INDEXED = [
    "{v}[..., np.argsort({v}, axis=-1)[..., 0]]",
    "np.take({v}, np.argmax({v}, axis=-1), axis=-1)",
    "np.take_along_axis({v}, np.argsort({v}, axis=-1), axis=-1)",
    "np.take({v}, [0, -1, 0], axis=-1)",
    "np.sort({v}, axis=0)",
    "np.sort({v}, axis=None)",
    "np.partition({v}, {k}, axis=-1)[..., {k}]",
    "{v}[..., np.floor(np.abs({v})).astype(int) % {n}]",
    "np.take({v}, n % {n}, axis=-1)",
    "{v}[..., n % {n}]",
    "np.choose(n % 2, [np.sum({v}), np.max({v})])",
    "np.compress([True, False, True], {v}, axis=-1)",
    "np.extract(np.array([True, False, True]), {v})",
    "np.sort({v})[::-1]",
]
"""Elements at indices that depend on numbers, or on the integers `n`."""

BUFFERS = [
    "np.copy({u})",
    "{u} * 1.0",
    "wg.zeros({shape})",
    "np.zeros_like({u})",
    "{u}.copy()",
    "wg.full({shape}, 0.5)",
    "wg.empty({shape})",
]
"""What is there to be filled in or changed."""

CONTRACTIONS = [
    "{v} @ {w}",
    "{v} @ {w}.T",
    "{v}.T @ {v}",
    "np.dot({v}, {w})",
    "np.inner({v}, {w})",
    "np.outer({v}, {w})",
    "np.vdot({v}, {v})",
    "np.tensordot({v}, {w}, 1)",
    "np.einsum('...i,...i->...', {v}, {v})",
    "np.einsum('ij,kj->ik', {v}, {v})",
    "np.einsum('i,j->ij', {v}, {w})",
    "np.einsum('ii->i', fit({v}, (3, 3)))",
    "np.trace({v})",
    "np.kron({v}, {w})",
    "np.cross(fit({v}, (3,)), fit({w}, (2, 3)))",
    "fit({v}, (2, 3)) @ fit({w}, (3, 2))",
    "fit({v}, (2, 2, 3)) @ fit({w}, (3,))",
    "np.linalg.multi_dot([fit({v}, (2, 3)), fit({w}, (3, 3)), fit({v}, (3, 2))])",
    "np.einsum('abc,cd,b->ad', fit({v}, (2, 2, 3)), fit({w}, (3, 2)), fit({v}, (2,)))",
    "np.vecdot(fit({v}, (2, 3)), fit({w}, (3,)))",
    "np.matvec(fit({v}, (2, 3)), fit({w}, (3,)))",
    "np.convolve(fit({v}, (4,)), fit({w}, (3,)), 'same')",
    "np.correlate(fit({v}, (4,)), fit({w}, (2,)))",
]
"""Products of two values."""

MATRICES = [
    "{y} = np.linalg.solve({a}, fit({w}, ({n},)))",
    "{y} = np.linalg.solve({a}, fit({w}, ({n}, 2)))",
    "{y} = np.linalg.inv({a})",
    "{y} = np.linalg.det({a})",
    "{y} = np.linalg.slogdet({a})[1]",
    "{s}\n{y} = np.linalg.cholesky({y})",
    "{s}\n{y} = np.linalg.eigvalsh({y})",
    "{s}\n{y} = np.linalg.eigh({y}).eigenvalues",
    "{y} = np.linalg.svd({a}, compute_uv=False)",
    "{y} = np.linalg.qr({a})[1]",
    "{y} = np.linalg.qr(np.stack([{a}, 0.5 * ({a})]))[0][..., 0] ** 2",
    "{y} = np.linalg.pinv({a})",
    "{y} = np.linalg.lstsq({a}, fit({w}, ({n},)), rcond=None)[0]",
    "{y} = wg.linalg.expm(0.3 * ({a}))",
    "{y} = wg.linalg.sqrtm({a})",
    "{y} = wg.linalg.logm({a})",
    "{y} = np.linalg.matrix_power({a}, {k})",
    "{y} = np.linalg.norm({a})",
    "{y} = np.linalg.norm({a}, 2)",
    "{y} = np.linalg.norm({a}, 'nuc')",
    "{y} = np.linalg.cond({a})",
    "{y} = wg.linalg.solve_triangular({a}, fit({w}, ({n},)), lower=True)",
    "{s}\n{y} = {y} @ np.linalg.eigh({y}).eigenvectors ** 2",
    "{s}\n{y} = np.linalg.eigh(np.stack([{y}, 0.5 * {y}])).eigenvectors[..., 0, :] ** 2",
    "{y} = wg.linalg.lu({a})[2]",
    "{y} = np.cov({a})",
]
"""Linear algebra: `a` is a square matrix, `s` lines that make the target symmetric and definite."""

SPECTRA = [
    "np.fft.fft({v})",
    "np.abs(np.fft.rfft(np.real({v})))",
    "np.fft.ifft({v})",
    "np.fft.irfft(np.fft.rfft(np.real({v})), {n})",
    "np.real(np.fft.fftn({v}))",
    "np.fft.fftshift({v})",
    "np.fft.fft({v}, n=4)",
    "np.angle(np.fft.rfft(np.real({v})) + 20.0)",
    "np.fft.hfft({v}, 4)",
    "np.imag(np.fft.fft({v}, norm='ortho'))",
]
"""Fourier transforms."""

SEQUENCES = [
    "np.cumsum({v}, axis={axis})",
    "np.cumprod({v}, axis={axis})",
    "np.cumsum({v})",
    "np.diff({v}, axis={axis})",
    "np.gradient({v}, axis={axis})",
    "np.trapezoid({v}, axis={axis})",
    "np.interp(within({v}, 0.1, 1.9), [0.0, 1.0, 2.0], [1.0, -1.0, 0.5])",
    "np.interp(0.7, np.cumsum(np.abs(np.ravel({v})) + 0.1), np.ravel({v}))",
    "np.quantile({v}, 0.3)",
    "np.percentile({v}, [25, 60], axis={axis})",
    "np.unwrap(3 * {v})",
    "np.polyval(np.ravel({v})[:3], 0.7)",
    "np.vander(np.ravel({v}), 3)",
    "np.ediff1d({v})",
    "np.searchsorted(np.sort(np.ravel({v})), 0.3)",
    "wg.cumulative_trapezoid({v})",
    "np.histogram({v}, bins=3, range=(-2, 2))[0]",
    "wg.special.softmax({v}, axis={axis})",
    "wg.special.log_softmax({v}, axis={axis})",
    "np.nancumsum({v})",
    "np.cov({v})",
    "np.convolve(np.ravel({v}), np.ravel({v}))",
    "np.apply_along_axis(lambda r: r * np.sum(r), {axis}, {v})",
    "wg.cumulative_sum({v}, axis={axis}, include_initial=True)",
    "np.polyint(np.ravel({v}))",
    "np.bincount([0, 1, 1], fit({v}, (3,)))",
]
"""Along an axis: sums, differences, quantiles, interpolation."""

CASTS = [
    "{v}.astype(np.float32)",
    "{v}.astype(np.float64)",
    "{v} + 0.5j * {v}",
    "np.abs({v})",
    "np.real({v}) + np.imag({v})",
    "np.astype({v}, np.complex128)",
    "{v} * np.float32(1.5)",
]
"""Other dtypes."""

AUXILIARIES = [
    "(n & 1) * {v}",
    "(n | 1) - (n ^ 2)",
    "(n << 1) - (n >> 1)",
    "{v} * ~n",
    "np.argmax({v})",
    "np.argsort({v}, axis=None)",
    "{v} > 0.2",
    "np.floor({v}).astype(np.int64)",
    "np.rint({v})",
    "np.sign({v})",
    "np.count_nonzero({v} > 0)",
    "np.any({v} > 1, axis=0)",
    "np.floor({v}) * {v}",
    "({v} > 0) * {v}",
    "np.floor_divide({v}, 0.7)",
    "n * {v}",
    "{v} ** n",
    "np.where(n > 0, {v}, 0.0)",
    "n + 1",
    "np.where(n, {v}, -{v})",
    "n.astype(np.float64) * {v}",
    "np.mod({v}, 0.7)",
    "np.divmod({v}, 0.7)[1]",
    "np.modf({v})[0]",
    "np.sum({v} > 0) * {v}",
    "np.ldexp({v}, n)",
]
"""Integers and booleans that come back into the computation."""

TRANSFORMS = [
    "wg.grad(lambda u: np.sum(u * np.sin(u)))({v})",
    "wg.grad(lambda u: np.sum(u ** 3) * np.sum({w}))({v})",
    "wg.jvp(lambda u: np.cos(u) * np.sum({w}), ({v},), ({v} * 0.5,))[1]",
    "wg.vmap(lambda u: np.sum(np.tanh(u)) * u)({v})",
    "wg.vmap(lambda u: u * np.sum({w}))({v})",
    "wg.checkpoint(lambda u, t: np.sin(u) * u + np.sum(t))({v}, {w})",
    "wg.compile(lambda u: np.exp(-u * u) * u)({v})",
    "wg.compile(lambda u, t: np.sin(u) * np.sum(t))({v}, {w})",
    "wg.vjp(lambda u: u * u * np.sum(u), {v})[1]({v})[0]",
    "wg.hvp(lambda u: np.sum(u ** 4), {v}, {v})",
    "wg.jacfwd(lambda u: np.sum(u) * np.sin(u))(fit({v}, (2,)))",
    "wg.jacrev(lambda u: np.cumsum(u * u))(fit({v}, (2,)))",
    "wg.checkpoint_loop(lambda s, k, r: s + 0.1 * np.sin(s * r), {v}, 3, np.sum({w}))",
    "wg.derivative(lambda u: np.sin(u * u), 2)({v})",
]
"""Transforms inside of the program."""
