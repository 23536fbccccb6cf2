"""Student's t distribution: `autograd.scipy.stats.t`."""

from scipy import stats as scipy_stats

from wengert import stats
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import on_values
from wengert.compat.differences import without

__all__ = ["cdf", "logcdf", "logpdf", "pdf"]

__getattr__ = without(__name__, ABSENT)

pdf = on_values(scipy_stats.t.pdf, stats.t.pdf)
cdf = on_values(scipy_stats.t.cdf, stats.t.cdf)
logpdf = on_values(scipy_stats.t.logpdf, stats.t.logpdf)
logcdf = on_values(scipy_stats.t.logcdf, stats.t.logcdf)
