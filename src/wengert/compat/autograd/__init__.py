"""Programs for HIPS autograd run on Wengert: `import wengert.compat.autograd as autograd`.

The package has the layout, the names and the conventions of autograd; `wengert.compat.install("autograd")` gives it to
libraries that import `autograd` itself. Its functions are operations of Wengert, so whatever is written with them also
runs under `wg.vmap`, in `wg.compile`, and beside other functions of Wengert.
"""

from wengert.compat.autograd import extend, numpy
from wengert.compat.autograd.builtins import dict, isinstance, list, tuple, type
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from wengert.compat.autograd.tracer import primitive
from wengert.compat.differences import without

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "extend",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "numpy",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]

__getattr__ = without(__name__, ABSENT)
