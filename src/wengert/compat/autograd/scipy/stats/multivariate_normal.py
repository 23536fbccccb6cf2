"""The normal distribution of vectors: `autograd.scipy.stats.multivariate_normal`."""

from scipy import stats as scipy_stats

from wengert import stats
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import on_values
from wengert.compat.differences import without

__all__ = ["entropy", "logpdf", "pdf"]

__getattr__ = without(__name__, ABSENT)

pdf = on_values(scipy_stats.multivariate_normal.pdf, stats.multivariate_normal.pdf)
logpdf = on_values(scipy_stats.multivariate_normal.logpdf, stats.multivariate_normal.logpdf)
entropy = on_values(scipy_stats.multivariate_normal.entropy, stats.multivariate_normal.entropy)
