"""Prices of European options by Black and Scholes, with all Greeks: first and second derivatives of every price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload


def data(n: int) -> tuple:
    """Prices of the shares, volatilities, times to expiry and interest rates; strikes."""
    rng = np.random.default_rng(0)
    market = [rng.uniform(a, b, n) for a, b in ((80.0, 120.0), (0.1, 0.6), (0.1, 2.0), (0.0, 0.1))]
    return market, rng.uniform(80.0, 120.0, n)


def price(market: Sequence[Any], strike: Any, m: Any, cdf: Callable) -> Any:
    """What a call is worth."""
    share, volatility, time, rate = market
    spread = volatility * m.sqrt(time)
    d = (m.log(share / strike) + (rate + 0.5 * volatility * volatility) * time) / spread
    return share * cdf(d) - strike * m.exp(-rate * time) * cdf(d - spread)


def greeks(market: Sequence[Any], strike: Any, m: Any, cdf: Callable, grad: Callable) -> tuple:
    """Delta, vega, theta and rho, and the second derivatives gamma, vanna and volga; prices are sums of nothing else,
    so the gradient of their sum has the derivatives of each.
    """
    first = grad(lambda market: m.sum(price(market, strike, m, cdf)))
    delta, vega, theta, rho = first(market)
    gamma, vanna, *_ = grad(lambda market: m.sum(first(market)[0]))(market)
    _, volga, *_ = grad(lambda market: m.sum(first(market)[1]))(market)
    return price(market, strike, m, cdf), delta, vega, theta, rho, gamma, vanna, volga


def taped_greeks(leaves: Sequence[Any], strike: Any, m: Any, cdf: Callable, grad: Callable) -> tuple:
    """The same in eager code, which keeps the tape of the prices, and that of their derivatives, for the next ones."""
    prices = price(leaves, strike, m, cdf)
    first = grad(prices.sum(), leaves, create_graph=True)
    gamma, vanna = grad(first[0].sum(), leaves[:2], retain_graph=True)
    (volga,) = grad(first[1].sum(), leaves[1:2])
    return prices, *first, gamma, vanna, volga


workload = Workload(
    "black-scholes",
    "the prices of 10 000 and 1 000 000 options by Black and Scholes, and seven Greeks of each",
    data=data,
    sizes={"small": 10_000, "large": 1_000_000},
    subject="wengert compiled",
    reference="wengert",
    family="statistics",
    traffic=lambda n: 8 * n * (5 + 8),
)


def _wengert_greeks(market: Any, strike: Any) -> tuple:
    import wengert as wg

    return greeks(market, strike, np, wg.special.ndtr, wg.grad)


@workload.implementation("wengert")
def eager(market: list[np.ndarray], strike: np.ndarray) -> Run:
    import wengert as wg

    leaves = [wg.tensor(a, requires_grad=True) for a in market]
    return lambda: taped_greeks(leaves, strike, np, wg.special.ndtr, wg.autograd.grad)


@workload.implementation("wengert compiled")
def wengert(market: list[np.ndarray], strike: np.ndarray) -> Run:
    import wengert as wg

    compiled = wg.compile(_wengert_greeks)
    return lambda: compiled(market, strike)


@workload.implementation("jax")
def jax(market: list[np.ndarray], strike: np.ndarray) -> Run:
    import jax

    compiled = jax.jit(lambda *a: greeks(*a, jax.numpy, jax.scipy.special.ndtr, jax.grad))
    problem = jax.tree.map(jax.numpy.asarray, (market, strike))
    return lambda: jax.block_until_ready(compiled(*problem))


@workload.implementation("torch")
def torch(market: list[np.ndarray], strike: np.ndarray) -> Run:
    import torch

    leaves = [torch.tensor(a, requires_grad=True) for a in market]
    return lambda: taped_greeks(leaves, torch.tensor(strike), torch, torch.special.ndtr, torch.autograd.grad)
