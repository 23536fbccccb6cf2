"""Models of images and of the world: rays through a volume, splats, noise, poses, and lives that end."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.faces import Face
from benchmarks.workloads.fresh.fresh import fresh

SAMPLES, SPLATS = 48, 60


def volume_data(rays: int) -> tuple:
    """Densities before they are made positive, and colours, at the samples of each ray; the pixels."""
    rng = np.random.default_rng(0)
    raw = [rng.normal(size=(rays, SAMPLES)), rng.normal(size=(rays, SAMPLES, 3))]
    return raw, np.full((rays, SAMPLES), 0.05), rng.uniform(size=(rays, 3))


def volume_loss(raw: Any, steps: Any, pixels: Any, face: Face) -> Any:
    """Squared differences of the pixels that rays through a volume give, with absorption."""
    m = face.numpy
    density, colour = raw
    thickness = face.softplus(density) * steps
    before = m.cumsum(thickness, axis=1) - thickness
    weights = m.exp(-before) * (1.0 - m.exp(-thickness))
    seen = m.sum(weights[:, :, None] * face.sigmoid(colour), axis=1)
    return m.mean(m.sum((seen - pixels) ** 2, axis=1)) + 0.01 * m.mean(weights * m.log(weights + 1e-6))


def splat_data(side: int) -> tuple:
    """Places, sizes, angles, colours and strengths of splats; an image."""
    rng = np.random.default_rng(0)
    params = [
        rng.uniform(size=(SPLATS, 2)), rng.normal(-2.0, 0.3, (SPLATS, 2)), rng.uniform(0.0, 3.0, SPLATS),
        rng.uniform(size=(SPLATS, 3)), rng.normal(size=SPLATS),
    ]  # fmt: skip
    y, x = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    return params, x.reshape(-1), y.reshape(-1), rng.uniform(size=(side * side, 3))


def splat_loss(params: Any, x: Any, y: Any, image: Any, face: Face) -> Any:
    """Squared differences of an image from splats that are blended from front to back."""
    m = face.numpy
    place, log_size, angle, colour, strength = params
    dx, dy = x[:, None] - place[:, 0], y[:, None] - place[:, 1]
    c, s = m.cos(angle), m.sin(angle)
    u, v = (c * dx + s * dy) * m.exp(-log_size[:, 0]), (c * dy - s * dx) * m.exp(-log_size[:, 1])
    alpha = 0.99 * face.sigmoid(strength) * m.exp(-0.5 * (u**2 + v**2))
    clear = m.cumsum(m.log(1.0 - alpha), axis=1) - m.log(1.0 - alpha)
    return m.mean((m.matmul(alpha * m.exp(clear), colour) - image) ** 2)


def noise_data(side: int) -> tuple:
    """An image to start with, and a noisy one."""
    rng = np.random.default_rng(0)
    clean = (np.add.outer(np.arange(side), np.arange(side)) // 16 % 2).astype(np.float64)
    return np.full((side, side), 0.5), clean + 0.2 * rng.normal(size=(side, side))


def noise_loss(image: Any, noisy: Any, face: Face) -> Any:
    """Huber's loss of the difference, and the total variation."""
    m = face.numpy
    error = image - noisy
    far = m.abs(error)
    fit = m.where(far < 0.3, 0.5 * error**2, 0.3 * (far - 0.15))
    across, down = image[1:, :-1] - image[:-1, :-1], image[:-1, 1:] - image[:-1, :-1]
    return m.sum(fit) + 0.1 * m.sum(m.sqrt(across**2 + down**2 + 1e-4))


def pose_data(n: int) -> tuple:
    """Poses in the plane; the ends of edges, and the measured differences."""
    rng = np.random.default_rng(0)
    poses = np.cumsum(rng.normal(size=(n, 3)) * [1.0, 1.0, 0.2], axis=0)
    first = np.concatenate([np.arange(n - 1), rng.integers(0, n, 3 * n)])
    second = np.concatenate([np.arange(1, n), rng.integers(0, n, 3 * n)])
    return poses, first, second, rng.normal(size=(len(first), 3)), rng.uniform(0.5, 2.0, (len(first), 3))


def pose_loss(poses: Any, first: Any, second: Any, measured: Any, weights: Any, face: Face) -> Any:
    """The error of a graph of poses in the plane, with Cauchy's robust loss."""
    m = face.numpy
    a, b = poses[first], poses[second]
    d = b - a
    c, s = m.cos(a[:, 2]), m.sin(a[:, 2])
    angle = d[:, 2] - measured[:, 2]
    turned = m.stack([c * d[:, 0] + s * d[:, 1], c * d[:, 1] - s * d[:, 0]], axis=1) - measured[:, :2]
    wrapped = m.arctan2(m.sin(angle), m.cos(angle))
    squares = m.sum(weights[:, :2] * turned**2, axis=1) + weights[:, 2] * wrapped**2
    return m.sum(m.log1p(squares))


def survival_data(n: int) -> tuple:
    """Coefficients and a shape; features, times, and whether a life ended at that time."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 12))
    return [0.1 * rng.normal(size=12), np.array(0.2)], x, rng.weibull(1.5, n) + 0.01, (rng.uniform(size=n) > 0.4) * 1.0


def survival_loss(params: Any, x: Any, times: Any, ended: Any, face: Face) -> Any:
    """The negative log-likelihood of Weibull lives, some of which are only known to be longer."""
    m = face.numpy
    w, log_shape = params
    shape = m.exp(log_shape)
    scaled = shape * (m.log(times) - x @ w)
    return -m.sum(ended * (log_shape - m.log(times) + scaled) - m.exp(scaled)) + 0.5 * m.sum(w**2)


workloads = [
    fresh("volume", "rays through a volume, 48 samples each", volume_data, volume_loss, small=50, large=5_000),
    fresh("splats", "60 splats blended on an image", splat_data, splat_loss, small=12, large=100),
    fresh(
        "denoising", "Huber's loss and the total variation of an image", noise_data, noise_loss, small=32, large=1_000
    ),
    fresh("poses", "a graph of poses in the plane", pose_data, pose_loss, small=100, large=20_000),
    fresh("survival", "Weibull lives with censoring", survival_data, survival_loss, small=300, large=100_000),
]
