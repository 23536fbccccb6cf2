"""The chi-squared distribution: `autograd.scipy.stats.chi2`."""

from scipy import stats as scipy_stats

from wengert import stats
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import on_values
from wengert.compat.differences import without

__all__ = ["cdf", "logpdf", "pdf"]

__getattr__ = without(__name__, ABSENT)

cdf = on_values(scipy_stats.chi2.cdf, stats.chi2.cdf)
logpdf = on_values(scipy_stats.chi2.logpdf, stats.chi2.logpdf)
pdf = on_values(scipy_stats.chi2.pdf, stats.chi2.pdf)
