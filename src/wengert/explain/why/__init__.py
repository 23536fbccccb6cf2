"""Why a derivative is not what was hoped for: `why_nan` for numbers that are not finite, `why_zero` for gradients that
are missing.
"""

from wengert.explain.why.nonfinite import WhyNan, why_nan
from wengert.explain.why.vanishing import WhyZero, why_zero

__all__ = ["WhyNan", "WhyZero", "why_nan", "why_zero"]
