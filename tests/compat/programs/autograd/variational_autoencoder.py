"""A variational autoencoder: the evidence bound with reparametrised draws, over parameters in nested lists."""

import autograd.numpy as np
import autograd.scipy.stats.norm as norm
import numpy.random as npr
from autograd import grad
from autograd.misc import flatten
from autograd.misc.optimizers import adam
from autograd.scipy.special import expit as sigmoid

LATENT, DATA = 2, 6
rng = npr.RandomState(19)
images = (rng.rand(20, DATA) > 0.5) * 1.0


def init(sizes):
    return [(0.3 * rng.randn(m, n), 0.3 * rng.randn(n)) for m, n in zip(sizes[:-1], sizes[1:])]


def network(params, x):
    for w, b in params:
        outputs = np.dot(x, w) + b
        x = np.tanh(outputs)
    return outputs


def split(params):
    return params[:, :LATENT], params[:, LATENT:]


def bound(generator, recogniser, x, seed):
    mean, log_std = split(network(recogniser, x))
    latents = mean + np.exp(log_std) * npr.RandomState(seed).randn(*mean.shape)
    log_q = np.sum(norm.logpdf(latents, mean, np.exp(log_std)), axis=-1)
    log_prior = np.sum(norm.logpdf(latents, 0.0, 1.0), axis=-1)
    logits = network(generator, latents)
    likelihood = np.sum(np.log(sigmoid(logits * (2 * x - 1))), axis=-1)
    return np.mean(likelihood + log_prior - log_q)


def objective(params, i):
    generator, recogniser = params
    return -bound(generator, recogniser, images, i)


start = (init([LATENT, 7, DATA]), init([DATA, 7, 2 * LATENT]))
values = []
trained = adam(
    grad(objective), start, num_iters=8, step_size=0.05, callback=lambda p, i, g: values.append(objective(p, i))
)
results = {"values": values, "gradient": flatten(grad(objective)(trained, 3))[0], "params": flatten(trained)[0]}
