"""The Dirichlet distribution: `autograd.scipy.stats.dirichlet`."""

from scipy import stats as scipy_stats

from wengert import stats
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import on_values
from wengert.compat.differences import without

__all__ = ["logpdf", "pdf", "rvs"]

__getattr__ = without(__name__, ABSENT)

rvs = scipy_stats.dirichlet.rvs
pdf = on_values(scipy_stats.dirichlet.pdf, stats.dirichlet.pdf)
logpdf = on_values(scipy_stats.dirichlet.logpdf, stats.dirichlet.logpdf)
