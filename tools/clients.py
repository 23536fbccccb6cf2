"""Libraries that are written for autograd, run on it and on `wengert.compat.autograd`: do they find the same?

`python tools/clients.py` runs each client in processes of their own and prints how far the results are apart, and both
times. A control shows that a comparison means something: how far the results move if all derivatives of the layer are
wrong by one part in a million. It needs autograd and the clients: `pip install autograd lifelines pymanopt
autograd-gamma`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

Results = dict[str, Any]
CLIENTS: dict[str, tuple[str, Callable[[], Results]]] = {}
"""The module that each client needs, and a function that runs it."""

WRONG = 1e-6
"""The relative error of all derivatives in the control."""


def client(name: str, module: str) -> Callable[[Callable[[], Results]], Callable[[], Results]]:
    """A decorator: the function runs the client of this name."""

    def enter(run: Callable[[], Results]) -> Callable[[], Results]:
        CLIENTS[name] = module, run
        return run

    return enter


def univariate(fitter: str, *args: Any, **options: Any) -> None:
    @client(f"lifelines {fitter}", "lifelines")
    def run() -> Results:
        import lifelines
        from lifelines.datasets import load_waltons

        data = load_waltons()
        model = getattr(lifelines, fitter)(*args, **options).fit(data["T"], data["E"])
        table = model.summary
        return {"coef": table["coef"], "se": table["se(coef)"], "log likelihood": model.log_likelihood_}


univariate("WeibullFitter")
univariate("LogNormalFitter")
univariate("LogLogisticFitter")
univariate("ExponentialFitter")
univariate("GeneralizedGammaFitter")
univariate("PiecewiseExponentialFitter", breakpoints=[25, 45])
univariate("SplineFitter", knot_locations=[6, 30, 60])


def regression(fitter: str, *args: Any, label: str = "", **options: Any) -> None:
    @client(f"lifelines {label or fitter}", "lifelines")
    def run() -> Results:
        import lifelines
        from lifelines.datasets import load_rossi

        model = getattr(lifelines, fitter)(*args, **options).fit(load_rossi(), "week", "arrest")
        table = model.summary
        return {"coef": table["coef"], "se": table["se(coef)"], "log likelihood": model.log_likelihood_}


regression("CoxPHFitter", label="CoxPHFitter (l1 penalty)", penalizer=0.1, l1_ratio=0.5)
regression(
    "CoxPHFitter", label="CoxPHFitter (spline)", baseline_estimation_method="spline", n_baseline_knots=2, penalizer=0.1
)
regression("WeibullAFTFitter")
regression("LogNormalAFTFitter")
regression("LogLogisticAFTFitter")
regression("GeneralizedGammaRegressionFitter", penalizer=1.0)
regression("PiecewiseExponentialRegressionFitter", breakpoints=[20, 40], penalizer=0.1)


@client("lifelines MixtureCureFitter", "lifelines")
def mixture_cure() -> Results:
    from lifelines import MixtureCureFitter, WeibullFitter

    rng = np.random.RandomState(1)
    times = np.where(rng.rand(200) < 0.3, np.inf, 10.0 * rng.weibull(2.0, 200))
    model = MixtureCureFitter(base_fitter=WeibullFitter()).fit(np.minimum(times, 25.0), times < 25.0)
    return {"cured": model.cured_fraction_, "coef": model.summary["coef"], "se": model.summary["se(coef)"]}


@client("lifelines WeibullFitter, intervals", "lifelines")
def intervals() -> Results:
    from lifelines import WeibullFitter

    rng = np.random.RandomState(0)
    lower = 10.0 * rng.weibull(2.0, 60)
    model = WeibullFitter().fit_interval_censoring(lower, lower + rng.exponential(2.0, 60))
    hazard = model.confidence_interval_cumulative_hazard_.to_numpy()
    return {"coef": model.summary["coef"], "intervals of the hazard": hazard}


def manifold(name: str, build: Callable[[Any, Any], tuple[Any, Callable[..., Any], Any]], optimizer: str) -> None:
    @client(f"pymanopt {optimizer}, {name}", "pymanopt")
    def run() -> Results:
        import autograd.numpy as anp
        import pymanopt

        space, cost, start = build(pymanopt, anp)
        problem = pymanopt.Problem(space, pymanopt.function.autograd(space)(cost))
        method = getattr(pymanopt.optimizers, optimizer)(verbosity=0, max_iterations=60)
        found = method.run(problem, initial_point=start)
        gradient = problem.riemannian_gradient(start)
        return {"cost": found.cost, "iterations": found.iterations, "gradient": parts(gradient)}


def parts(point: Any) -> list[Any]:
    return [np.asarray(part) for part in point] if isinstance(point, list | tuple) else [np.asarray(point)]


def symmetric(n: int) -> np.ndarray:
    a = np.random.RandomState(1).randn(n, n)
    return a + a.T


def on_sphere(pymanopt: Any, anp: Any) -> tuple[Any, Callable[..., Any], Any]:
    a, start = symmetric(12), np.ones(12) / np.sqrt(12.0)
    return pymanopt.manifolds.Sphere(12), lambda x: -anp.dot(x, anp.dot(a, x)), start


def on_stiefel(pymanopt: Any, anp: Any) -> tuple[Any, Callable[..., Any], Any]:
    a, weights = symmetric(10), np.diag([3.0, 2.0, 1.0])
    start = np.linalg.qr(np.random.RandomState(2).randn(10, 3))[0]
    return pymanopt.manifolds.Stiefel(10, 3), lambda x: anp.trace(x.T @ a @ x @ weights), start


def on_grassmann(pymanopt: Any, anp: Any) -> tuple[Any, Callable[..., Any], Any]:
    data = np.random.RandomState(3).randn(30, 8)
    start = np.linalg.qr(np.random.RandomState(4).randn(8, 2))[0]
    return pymanopt.manifolds.Grassmann(8, 2), lambda w: anp.linalg.norm(data - data @ w @ w.T) ** 2, start


def on_positive_definite(pymanopt: Any, anp: Any) -> tuple[Any, Callable[..., Any], Any]:
    data = np.random.RandomState(5).randn(40, 4)
    scatter = data.T @ data / 40.0

    def likelihood(s: Any) -> Any:
        return anp.linalg.slogdet(s)[1] + anp.trace(anp.linalg.solve(s, scatter))

    return pymanopt.manifolds.SymmetricPositiveDefinite(4), likelihood, np.eye(4)


def on_fixed_rank(pymanopt: Any, anp: Any) -> tuple[Any, Callable[..., Any], Any]:
    rng = np.random.RandomState(6)
    a = rng.randn(9, 7)
    u, s, vt = np.linalg.svd(a + 0.3 * rng.randn(9, 7), full_matrices=False)
    space = pymanopt.manifolds.FixedRankEmbedded(9, 7, 2)
    start = space.random_point()
    start = type(start)(u[:, :2], s[:2], vt[:2]) if hasattr(start, "_fields") else (u[:, :2], s[:2], vt[:2])
    return space, lambda u, s, vt: anp.linalg.norm(u @ anp.diag(s) @ vt - a) ** 2, start


def on_complex_circle(pymanopt: Any, anp: Any) -> tuple[Any, Callable[..., Any], Any]:
    rng = np.random.RandomState(7)
    a = rng.randn(6, 6) + 1j * rng.randn(6, 6)
    a = a + a.conj().T
    cost = lambda z: -anp.real(anp.dot(anp.conj(z), anp.dot(a, z)))
    return pymanopt.manifolds.ComplexCircle(6), cost, np.ones(6) + 0j


for optimizer in ("SteepestDescent", "ConjugateGradient", "TrustRegions"):
    for label, build in {
        "sphere": on_sphere,
        "Stiefel": on_stiefel,
        "Grassmann": on_grassmann,
        "positive definite": on_positive_definite,
        "complex circle": on_complex_circle,
    }.items():
        manifold(label, build, optimizer)
manifold("fixed rank", on_fixed_rank, "ConjugateGradient")


@client("autograd-gamma", "autograd_gamma")
def incomplete_functions() -> Results:
    import autograd.numpy as anp
    import autograd_gamma
    from autograd import grad, hessian

    a, b, x = np.array([0.7, 2.0, 5.5]), np.array([1.5, 0.9, 3.0]), np.array([0.2, 0.6, 0.8])
    found: Results = {}
    for name in ("gammainc", "gammaincc", "gammaincln", "gammainccln", "gammaincinv", "gammainccinv"):
        f = getattr(autograd_gamma, name)
        found[name] = [*grad(lambda a, x, f=f: anp.sum(f(a, x)), (0, 1))(a, x)]
    for name in ("betainc", "betaincln", "betaincinv"):
        f = getattr(autograd_gamma, name)
        found[name] = [*grad(lambda a, b, x, f=f: anp.sum(f(a, b, x)), (0, 1, 2))(a, b, x)]
    found["hessian"] = hessian(lambda x: anp.sum(autograd_gamma.gammainc(a, x) * x))(x)
    return found


def scale_derivatives(factor: float) -> None:
    """Multiply all cotangents that the layer returns by a number: the control."""
    from wengert.compat.autograd.core import Recorded
    from wengert.core import tree

    pull = Recorded.pull
    Recorded.pull = lambda *args, **options: tree.map(lambda t: t * factor, pull(*args, **options))  # type: ignore[method-assign]


def run_client(name: str, on_layer: bool, error: float = 0.0) -> dict[str, Any]:
    """The results of a client in this process, flat, and the seconds that it took."""
    if on_layer:
        from wengert.compat import install

        install("autograd")
    if error:
        scale_derivatives(1.0 + error)
    warnings.simplefilter("ignore")
    np.random.seed(0)
    module, run = CLIENTS[name]
    import_module(module)
    start = perf_counter()
    results = run()
    seconds = perf_counter() - start
    flat = {key: [np.ravel(np.asarray(part)) for part in parts(value)] for key, value in results.items()}
    stored = {key: [[*part.real.tolist(), *part.imag.tolist()] for part in found] for key, found in flat.items()}
    return {"results": stored, "seconds": seconds}


def run_in_process(name: str, on_layer: bool, error: float = 0.0) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--run", name, "--error", str(error), *(["--layer"] if on_layer else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} {'on the layer' if on_layer else 'on autograd'}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def difference(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """The largest difference of two results, relative to the largest number of its kind."""
    worst = 0.0
    for key, wanted in theirs["results"].items():
        for mine, part in zip(ours["results"][key], wanted, strict=True):
            scale = max(1e-300, float(np.max(np.abs(part), initial=0.0)))
            worst = max(worst, float(np.max(np.abs(np.array(mine) - part), initial=0.0)) / scale)
    return worst


def installed() -> list[str]:
    """The clients that can run here."""
    return [name for name, (module, _) in CLIENTS.items() if find_spec(module) and find_spec("autograd")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", metavar="CLIENT", help="run one client in this process and print its results")
    parser.add_argument("--layer", action="store_true", help="with --run: on the layer, not on autograd")
    parser.add_argument("--error", type=float, default=0.0, help="with --layer: by how much derivatives are wrong")
    parser.add_argument("--only", default="", help="the clients whose names contain this")
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run_client(options.run, options.layer, options.error)))
        return
    missing = sorted({module for name, (module, _) in CLIENTS.items() if name not in installed()})
    if missing:
        print(f"Not installed: {', '.join(missing)}")
    print(f"| {'client':46} | difference | control | autograd | layer |\n|---|---|---|---|---|")
    for name in [name for name in installed() if options.only in name]:
        theirs, ours = run_in_process(name, on_layer=False), run_in_process(name, on_layer=True)
        moved = difference(run_in_process(name, on_layer=True, error=WRONG), ours)
        times = f"{theirs['seconds']:.2f} s | {ours['seconds']:.2f} s"
        print(f"| {name:46} | {difference(ours, theirs):.1e} | {moved:.1e} | {times} |", flush=True)


if __name__ == "__main__":
    main()
