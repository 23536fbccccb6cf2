"""The normal distribution: `autograd.scipy.stats.norm`."""

from scipy import stats as scipy_stats

from wengert import stats
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import on_values
from wengert.compat.differences import without

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

__getattr__ = without(__name__, ABSENT)

pdf = on_values(scipy_stats.norm.pdf, stats.norm.pdf)
cdf = on_values(scipy_stats.norm.cdf, stats.norm.cdf)
sf = on_values(scipy_stats.norm.sf, stats.norm.sf)
logpdf = on_values(scipy_stats.norm.logpdf, stats.norm.logpdf)
logcdf = on_values(scipy_stats.norm.logcdf, stats.norm.logcdf)
logsf = on_values(scipy_stats.norm.logsf, stats.norm.logsf)
