"""`torch.distributions`: densities, draws with derivatives, divergences, transforms; the formulas of `wg.stats`."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.distributions import constraints as constraints
from wengert.compat.torch.distributions import kl as kl
from wengert.compat.torch.distributions import transforms as transforms
from wengert.core.namespaces import gather_names

FAMILIES = (
    "compat.torch.distributions.composed",
    "compat.torch.distributions.continuous",
    "compat.torch.distributions.discrete",
    "compat.torch.distributions.distribution: Distribution",
    "compat.torch.distributions.kl: kl_divergence register_kl",
    "compat.torch.distributions.transforms: AffineTransform ComposeTransform ExpTransform PowerTransform "
    "SigmoidTransform SoftplusTransform TanhTransform Transform identity_transform",
    "compat.torch.distributions.vectors",
)
"""The modules whose public names are here."""

__all__ = ["constraints", "kl", "transforms", *gather_names(globals(), FAMILIES)]

__getattr__ = without(__name__, ABSENT)
