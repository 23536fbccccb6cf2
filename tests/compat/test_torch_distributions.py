"""Distributions of the layer for PyTorch: densities against SciPy, and draws against the moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import wengert.compat.torch as torch
from wengert.compat.torch import distributions as D  # noqa: N812  # as users write it

X = np.array([0.2, 0.7, 1.6])
U = np.array([0.2, 0.5, 0.9])
K = np.array([0.0, 1.0, 3.0])


def t(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


A, B = t(0.7, 1.5, 3.0), t(2.0, 0.8, 1.2)
a, b = A.numpy(), B.numpy()

DENSITIES = {
    "Normal": (D.Normal(A, B), X, stats.norm(a, b).logpdf(X)),
    "LogNormal": (D.LogNormal(A, B), X, stats.lognorm(b, scale=np.exp(a)).logpdf(X)),
    "Uniform": (D.Uniform(-A, B), U, stats.uniform(-a, a + b).logpdf(U)),
    "Exponential": (D.Exponential(A), X, stats.expon(scale=1 / a).logpdf(X)),
    "Gamma": (D.Gamma(A, B), X, stats.gamma(a, scale=1 / b).logpdf(X)),
    "InverseGamma": (D.InverseGamma(A, B), X, stats.invgamma(a, scale=b).logpdf(X)),
    "Chi2": (D.Chi2(A), X, stats.chi2(a).logpdf(X)),
    "Beta": (D.Beta(A, B), U, stats.beta(a, b).logpdf(U)),
    "StudentT": (D.StudentT(A, B, A), X, stats.t(a, b, a).logpdf(X)),
    "Cauchy": (D.Cauchy(A, B), X, stats.cauchy(a, b).logpdf(X)),
    "Laplace": (D.Laplace(A, B), X, stats.laplace(a, b).logpdf(X)),
    "Gumbel": (D.Gumbel(A, B), X, stats.gumbel_r(a, b).logpdf(X)),
    "HalfNormal": (D.HalfNormal(B), X, stats.halfnorm(scale=b).logpdf(X)),
    "Weibull": (D.Weibull(A, B), X, stats.weibull_min(b, scale=a).logpdf(X)),
    "Pareto": (D.Pareto(t(0.1, 0.5, 1.0), A), X, stats.pareto(a, scale=np.array([0.1, 0.5, 1.0])).logpdf(X)),
    "VonMises": (D.VonMises(A, B), X, stats.vonmises(b, a).logpdf(X)),
    "Poisson": (D.Poisson(A), K, stats.poisson(a).logpmf(K)),
    "Bernoulli": (D.Bernoulli(t(0.2, 0.7, 0.4)), K > 0, stats.bernoulli([0.2, 0.7, 0.4]).logpmf(K > 0)),
    "Binomial": (D.Binomial(5, t(0.2, 0.7, 0.4)), K, stats.binom(5, [0.2, 0.7, 0.4]).logpmf(K)),
    "Geometric": (D.Geometric(t(0.2, 0.7, 0.4)), K, stats.geom([0.2, 0.7, 0.4]).logpmf(K + 1)),
    "NegativeBinomial": (D.NegativeBinomial(4, t(0.2, 0.7, 0.4)), K, stats.nbinom(4, [0.8, 0.3, 0.6]).logpmf(K)),
    "Categorical": (D.Categorical(t(1.0, 2.0, 1.0)), np.array([0, 1, 1]), np.log([0.25, 0.5, 0.5])),
    "Dirichlet": (D.Dirichlet(A), U / U.sum(), stats.dirichlet(a).logpdf(U / U.sum())),
    "Multinomial": (D.Multinomial(4, t(0.2, 0.3, 0.5)), K, stats.multinomial(4, [0.2, 0.3, 0.5]).logpmf(K)),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_density(name):
    distribution, value, wanted = DENSITIES[name]
    found = distribution.log_prob(torch.tensor(value))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-8)


@pytest.mark.parametrize("name", sorted(DENSITIES.keys() - {"Cauchy", "Pareto", "VonMises", "Categorical", "StudentT"}))
def test_draws_have_the_mean(name):
    torch.manual_seed(5)
    distribution = DENSITIES[name][0]
    if name == "InverseGamma":
        distribution = D.InverseGamma(A + 4.0, B)
    draws = distribution.sample((4000,))
    assert draws.shape == (4000, *distribution.batch_shape, *distribution.event_shape)
    error = draws.numpy().std(0) / np.sqrt(4000)
    assert (np.abs(draws.numpy().mean(0) - distribution.mean.numpy()) < 6 * error + 1e-9).all()


def test_reparametrised_draws_have_gradients():
    for make in (D.Normal, D.Gamma, D.Beta):
        parameters = A.clone().requires_grad_(), B.clone().requires_grad_()
        distribution = make(*parameters)
        assert distribution.has_rsample
        distribution.rsample((3,)).sum().backward()
        assert all(np.isfinite(p.grad.numpy()).all() for p in parameters)
        assert not distribution.sample().requires_grad
    with pytest.raises(NotImplementedError, match="no derivatives"):
        D.Poisson(A).rsample()


def test_multivariate_normal():
    mean, cov = t(1.0, -1.0), torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    exact = stats.multivariate_normal(mean.numpy(), cov.numpy())
    points = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, -1.0]])
    by_tril = D.MultivariateNormal(mean, scale_tril=torch.linalg.cholesky(cov))
    by_precision = D.MultivariateNormal(mean, precision_matrix=torch.linalg.inv(cov))
    for d in (D.MultivariateNormal(mean, cov), by_tril, by_precision):
        np.testing.assert_allclose(d.log_prob(torch.tensor(points)).numpy(), exact.logpdf(points), rtol=1e-9)
        assert d.entropy().item() == pytest.approx(exact.entropy())
    torch.manual_seed(0)
    np.testing.assert_allclose(np.cov(by_tril.sample((20000,)).numpy().T), cov.numpy(), atol=0.1)


DIVERGENCES = {
    "Normal": (D.Normal(A, B), D.Normal(B, A)),
    "Gamma": (D.Gamma(A, B), D.Gamma(B, A)),
    "Beta": (D.Beta(A, B), D.Beta(B, A)),
    "Laplace": (D.Laplace(A, B), D.Laplace(B, A)),
    "Exponential": (D.Exponential(A), D.Exponential(B)),
    "LogNormal": (D.LogNormal(A, B), D.LogNormal(B, A)),
    "HalfNormal": (D.HalfNormal(A), D.HalfNormal(B)),
    "Dirichlet": (D.Dirichlet(A), D.Dirichlet(B)),
    "Bernoulli": (D.Bernoulli(t(0.2, 0.7)), D.Bernoulli(t(0.5, 0.6))),
    "Categorical": (D.Categorical(logits=A), D.Categorical(logits=B)),
    "Geometric": (D.Geometric(t(0.2, 0.7)), D.Geometric(t(0.5, 0.6))),
    "Poisson": (D.Poisson(A), D.Poisson(B)),
    "Independent": (D.Independent(D.Normal(A, B), 1), D.Independent(D.Normal(B, A), 1)),
}


@pytest.mark.parametrize("name", DIVERGENCES)
def test_divergences_are_averages(name):
    p, q = DIVERGENCES[name]
    torch.manual_seed(2)
    draws = p.sample((20000,))
    ratios = (p.log_prob(draws) - q.log_prob(draws)).numpy()
    error = ratios.std(0) / np.sqrt(20000)
    assert (np.abs(ratios.mean(0) - D.kl_divergence(p, q).numpy()) < 6 * error + 1e-12).all()
    np.testing.assert_allclose(D.kl_divergence(p, p).numpy(), 0.0, atol=1e-12)


def test_transforms_are_inverse_and_have_their_slopes():
    x = t(0.3, 0.8, 1.5)
    affine = D.AffineTransform(1.0, t(2.0, -3.0, 0.5))
    parts = [D.ExpTransform(), D.SigmoidTransform(), D.TanhTransform(), D.SoftplusTransform(), D.PowerTransform(2.0)]
    for transform in [*parts, affine, D.ComposeTransform([affine, D.TanhTransform()])]:
        y = transform(x)
        np.testing.assert_allclose(transform.inv(y).numpy(), x.numpy(), rtol=1e-9)
        slope = torch.autograd.functional.jacobian(transform, x).diagonal()
        np.testing.assert_allclose(transform.log_abs_det_jacobian(x, y).numpy(), slope.abs().log().numpy(), atol=1e-9)


def test_mixtures_and_transformed_distributions():
    mixture = D.MixtureSameFamily(D.Categorical(t(0.3, 0.7)), D.Normal(t(-1.0, 2.0), t(1.0, 1.0)))
    wanted = np.log(0.3 * stats.norm(-1, 1).pdf(X) + 0.7 * stats.norm(2, 1).pdf(X))
    np.testing.assert_allclose(mixture.log_prob(torch.tensor(X)).numpy(), wanted, rtol=1e-9)
    torch.manual_seed(0)
    assert mixture.sample((4000,)).mean().item() == pytest.approx(mixture.mean.item(), abs=0.15)
    lognormal = D.TransformedDistribution(D.Normal(A, B), [D.ExpTransform()])
    np.testing.assert_allclose(lognormal.log_prob(torch.tensor(X)).numpy(), DENSITIES["LogNormal"][2], rtol=1e-9)
    assert lognormal.rsample((2,)).shape == (2, 3)


def test_bad_parameters_and_values():
    with pytest.raises(ValueError, match="Normal: parameter scale is not positive"):
        D.Normal(0.0, t(-1.0))
    with pytest.raises(ValueError, match="the value is not nonnegative"):
        D.Gamma(A, B).log_prob(-A)
    with pytest.raises(ValueError, match="either probs or logits"):
        D.Bernoulli()
    with pytest.raises(TypeError, match="Gamma takes concentration, rate"):
        D.Gamma(A)
    with pytest.raises(NotImplementedError, match="no formula"):
        D.kl_divergence(D.Normal(A, B), D.Gamma(A, B))
    assert D.Normal(A, B).expand((2, 3)).batch_shape == (2, 3)
    assert D.Normal(0.0, 1.0).log_prob(torch.tensor(1.0)).dtype == torch.float32
