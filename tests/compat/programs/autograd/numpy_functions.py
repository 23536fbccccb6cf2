"""Gradients of NumPy's and SciPy's functions, one after the other."""

import autograd.numpy as np
import autograd.scipy.linalg as sla
import autograd.scipy.special as special
import autograd.scipy.stats as stats
from autograd import grad

x = np.array([0.3, 0.8, 0.55, 0.1])
m = np.array([[2.0, 0.3, -0.5], [0.1, 1.5, 0.4], [-0.2, 0.6, 1.1]])
b = np.array([0.5, -1.0, 2.0])
weights = np.cos(np.arange(200.0))
positive = m @ m.T + np.eye(3)
cube = np.sin(np.arange(24.0)).reshape(2, 3, 4)


def weighted(y):
    """One number that depends on all elements."""
    y = np.ravel(y)
    return np.sum(y * weights[: y.shape[0]])


UNARY = """sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh exp exp2 expm1 log log2 log10 log1p sqrt
square reciprocal negative abs fabs degrees radians deg2rad rad2deg sinc""".split()
BINARY = "add subtract multiply divide power maximum minimum fmax fmin logaddexp logaddexp2 arctan2 hypot mod".split()
results = {name: grad(lambda a, f=getattr(np, name): weighted(f(a)))(x) for name in UNARY}
for name in BINARY:
    f = getattr(np, name)
    results[name] = list(grad(lambda a, c, f=f: weighted(f(a, c)), (0, 1))(x, x[::-1] + 0.05))
results["arccosh"] = grad(lambda a: weighted(np.arccosh(a)))(x + 1.0)

ON_VECTORS = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "var": np.var,
    "std": np.std,
    "cumsum": np.cumsum,
    "diff": np.diff,
    "sort": np.sort,
    "outer": lambda a: np.outer(a, a[:2]),
    "dot": lambda a: np.dot(a, a),
    "inner": lambda a: np.inner(a, a),
    "tile": lambda a: np.tile(a, 3),
    "repeat": lambda a: np.repeat(a, 2),
    "roll": lambda a: np.roll(a, 1),
    "flipud": np.flipud,
    "pad": lambda a: np.pad(a, 2, mode="constant"),
    "diag": np.diag,
    "clip": lambda a: np.clip(a, 0.2, 0.6),
    "concatenate": lambda a: np.concatenate([a, a**2]),
    "stack": lambda a: np.stack([a, a**2], axis=1),
    "hstack": lambda a: np.hstack([a, a[:2]]),
    "vstack": lambda a: np.vstack([a, 2 * a]),
    "append": lambda a: np.append(a, a),
    "column_stack": lambda a: np.column_stack([a, a]),
    "select": lambda a: np.select([a > 0.5, a > 0.2], [a**2, a**3]),
    "index": lambda a: a[np.array([0, 0, 2])] ** 2,
    "slice": lambda a: a[::-2] ** 2,
    "mask": lambda a: a[a > 0.2] ** 2,
    "linspace": lambda a: np.linspace(a[0], a[1], 5),
    "cross": lambda a: np.cross(a[:3], b),
    "kron": lambda a: np.kron(a, a[:2]),
    "gradient": np.gradient,
    "ptp": lambda a: np.max(a) - np.min(a),
    "partition": lambda a: np.partition(a, 2)[2],
    "atleast_2d": np.atleast_2d,
    "nan_to_num": np.nan_to_num,
    "split": lambda a: np.concatenate(np.split(a, 2)[::-1]),
    "astype": lambda a: a.astype(float),
    "logsumexp": special.logsumexp,
    "array": lambda a: np.array([a[0], a[1] * a[2]]),
}
for name, f in ON_VECTORS.items():
    results[f"{name} of a vector"] = grad(lambda a, f=f: weighted(f(a)))(x)

ON_CUBES = {
    "sum": lambda a: np.sum(a, axis=1),
    "mean": lambda a: np.mean(a, axis=(0, 2)),
    "max": lambda a: np.max(a, axis=2),
    "min": lambda a: np.min(a, axis=0, keepdims=True),
    "prod": lambda a: np.prod(a + 2.0, axis=1),
    "std": lambda a: np.std(a, axis=1, ddof=1),
    "var": lambda a: np.var(a, axis=2),
    "transpose": lambda a: np.transpose(a, (2, 0, 1)),
    "swapaxes": lambda a: np.swapaxes(a, 0, 2),
    "moveaxis": lambda a: np.moveaxis(a, 0, 2),
    "reshape": lambda a: np.reshape(a, (4, 6)),
    "ravel": np.ravel,
    "squeeze": lambda a: np.squeeze(a[:1]),
    "expand_dims": lambda a: np.expand_dims(a, 1),
    "cumsum": lambda a: np.cumsum(a, axis=1),
    "einsum": lambda a: np.einsum("ijk,ilk->jl", a, a),
    "tensordot": lambda a: np.tensordot(a, a, axes=[(0, 2), (0, 2)]),
    "matmul": lambda a: np.matmul(a, np.ones((4, 2))),
    "tril": lambda a: np.tril(a[0]),
    "triu": lambda a: np.triu(a[1]),
    "rot90": lambda a: np.rot90(a[0]),
    "fliplr": np.fliplr,
    "diagonal": lambda a: np.diagonal(a[0, :, :3], 0, -1, -2),
    "trace": lambda a: np.trace(a[0, :, :3]),
    "rollaxis": lambda a: np.rollaxis(a, 2),
    "logsumexp": lambda a: special.logsumexp(a, axis=1),
    "broadcast": lambda a: a * np.arange(4.0) + np.ones((3, 1)),
    "ellipsis": lambda a: a[..., 1:3, None] ** 2,
    "array_split": lambda a: np.array_split(a, 2, axis=2)[1],
    "dsplit": lambda a: np.dsplit(a, 2)[0],
}
for name, f in ON_CUBES.items():
    results[f"{name} of a cube"] = grad(lambda a, f=f: weighted(f(a)))(cube)

LINEAR_ALGEBRA = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "norm": np.linalg.norm,
    "solve": lambda a: np.linalg.solve(a, b),
    "pinv": np.linalg.pinv,
    "nuclear": lambda a: np.linalg.norm(a, "nuc"),
    "singular values": lambda a: np.linalg.svd(a, compute_uv=False),
    "matrix_power": lambda a: a @ a @ a,
    "svd": lambda a: np.abs(np.linalg.svd(a, full_matrices=False)[0]),
    "sqrtm": lambda a: sla.sqrtm(a @ a),
    "solve_triangular": lambda a: sla.solve_triangular(a, b, lower=True),
    "transposed": lambda a: sla.solve_triangular(a, b, trans="T"),
    "row norms": lambda a: np.linalg.norm(a, axis=1),
    "of order 3": lambda a: np.linalg.norm(a[0], 3),
    "sylvester": lambda a: sla.solve_sylvester(a, a.T + np.eye(3), np.ones((3, 3))),
}
for name, f in LINEAR_ALGEBRA.items():
    results[name] = grad(lambda a, f=f: weighted(f(a)))(m)
symmetric = lambda f: grad(lambda a: weighted(f((a + a.T) / 2.0)))(positive)
results["eigh"] = symmetric(lambda a: np.linalg.eigh(a)[0])
results["eigenvectors"] = symmetric(lambda a: np.linalg.eigh(a)[1] ** 2)
results["cholesky"] = symmetric(np.linalg.cholesky)

SPECIAL = "psi digamma gamma gammaln rgamma erf erfc erfinv erfcinv logit expit j0 j1 y0 y1 i0 i1".split()
for name in SPECIAL:
    results[f"special {name}"] = grad(lambda a, f=getattr(special, name): weighted(f(a)))(x)
ORDERED = {name: lambda a, f=getattr(special, name): f(2, a) for name in ("jn", "yn", "iv", "ive", "polygamma")}
for name, f in ORDERED.items():
    results[f"special {name}"] = grad(lambda a, f=f: weighted(f(a)))(x)
results["multigammaln"] = grad(lambda a: weighted(special.multigammaln(a, 2)))(x + 1.0)
results["beta function"] = list(grad(lambda a, c: weighted(special.beta(a, c)), (0, 1))(x, x[::-1]))
results["betaln"] = list(grad(lambda a, c: weighted(special.betaln(a, c)), (0, 1))(x, x[::-1]))
results["gammainc"] = grad(lambda a: weighted(special.gammainc(2.5, a)))(x)
results["gammaincc"] = grad(lambda a: weighted(special.gammaincc(2.5, a)))(x)
results["betainc"] = grad(lambda a: weighted(special.betainc(2.0, 1.5, a)))(x)

DISTRIBUTIONS = {
    "norm": [(stats.norm, name, (0.2, 1.3)) for name in ("pdf", "cdf", "sf", "logpdf", "logcdf", "logsf")],
    "t": [(stats.t, name, (3.5, 0.2, 1.3)) for name in ("pdf", "cdf", "logpdf", "logcdf")],
    "beta": [(stats.beta, name, (2.0, 1.5)) for name in ("pdf", "cdf", "logpdf")],
    "chi2": [(stats.chi2, name, (3.0,)) for name in ("pdf", "cdf", "logpdf")],
    "gamma": [(stats.gamma, name, (2.5,)) for name in ("pdf", "cdf", "logpdf")],
}
for family, members in DISTRIBUTIONS.items():
    for module, name, parameters in members:
        f = getattr(module, name)
        results[f"{family} {name}"] = grad(lambda a, f=f, p=parameters: weighted(f(a, *p)))(x)
for name in ("pdf", "logpdf", "cdf"):
    f = getattr(stats.norm, name)
    results[f"norm {name}, parameters"] = list(grad(lambda mu, s, f=f: weighted(f(x, mu, s)), (0, 1))(0.2, 1.3))
for name in ("pmf", "logpmf"):
    f = getattr(stats.poisson, name)
    results[f"poisson {name}"] = grad(lambda mu, f=f: weighted(f(np.arange(4), mu)))(2.5)
results["dirichlet"] = grad(lambda a: stats.dirichlet.logpdf(x / np.sum(x), a))(x + 1.0)
normal = stats.multivariate_normal.logpdf
points = np.array([[0.1, 0.2, 0.3], [1.0, -1.0, 0.5]])
results["multivariate_normal"] = list(grad(lambda a, mu: weighted(normal(a, mu, positive)), (0, 1))(points, b))
results["singular"] = grad(lambda a: weighted(normal(a, b, np.ones((3, 3)), True)))(points)
results["entropy"] = grad(lambda a: stats.multivariate_normal.entropy(b, a))(positive)
results["cholesky alone"] = grad(lambda a: weighted(np.linalg.cholesky(a)))(positive)
results["its covariance"] = grad(lambda a: weighted(normal(points, b, np.dot(a, a.T) + np.eye(3))))(m)
