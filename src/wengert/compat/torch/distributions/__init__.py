"""`torch.distributions`: densities, draws with derivatives, divergences, transforms; the formulas of `wg.stats`."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.distributions import composed, constraints, continuous, discrete, kl, transforms, vectors
from wengert.compat.torch.distributions.composed import *  # noqa: F403  # the public names of this namespace
from wengert.compat.torch.distributions.continuous import *  # noqa: F403  # the same
from wengert.compat.torch.distributions.discrete import *  # noqa: F403
from wengert.compat.torch.distributions.distribution import Distribution
from wengert.compat.torch.distributions.kl import kl_divergence, register_kl
from wengert.compat.torch.distributions.transforms import *  # noqa: F403
from wengert.compat.torch.distributions.vectors import *  # noqa: F403

__all__ = [
    "Distribution", "constraints", "kl", "kl_divergence", "register_kl", "transforms",
    *composed.__all__, *continuous.__all__, *discrete.__all__, *transforms.__all__, *vectors.__all__,
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)
