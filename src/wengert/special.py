"""`wg.special`: special functions, by the names and with the arguments of `scipy.special`.

SciPy's ufuncs come here when they are called on values.
"""

from wengert.core.array import SCIPY_UFUNCS
from wengert.core.namespaces import gather_names, name_functions
from wengert.ops.elementwise.arithmetic import cbrt
from wengert.ops.elementwise.exponential import exp2, expm1, log1p
from wengert.ops.special.gamma import zeta
from wengert.ops.special.integrals import lambertw

FAMILIES = (
    "ops.special.bessel",
    "ops.special.combinatorial",
    "ops.special.entropy",
    "ops.special.error",
    "ops.special.gamma",
    "ops.special.hypergeometric",
    "ops.special.incomplete",
    "ops.special.integrals",
    "ops.special.quantile",
)

__all__ = gather_names(globals(), FAMILIES)

SCIPY_UFUNCS.update({name: globals()[name] for name in __all__})
SCIPY_UFUNCS.update({"_zeta": zeta, "_riemann_zeta": zeta, "_lambertw": lambertw})
SCIPY_UFUNCS.update({function.__name__: function for function in (cbrt, exp2, expm1, log1p)})

__getattr__, __dir__ = name_functions(globals())
