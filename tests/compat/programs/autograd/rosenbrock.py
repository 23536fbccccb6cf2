"""The minimum of Rosenbrock's function, by several of SciPy's optimisers, with gradients and Hessians."""

import autograd.numpy as np
from autograd import grad, hessian, hessian_vector_product, make_hvp, value_and_grad
from scipy.optimize import minimize


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


x0 = np.array([-1.2, 1.0, 0.7])
options = {"maxiter": 8}
bfgs = minimize(value_and_grad(rosenbrock), x0, jac=True, method="CG", options=options)
newton = minimize(rosenbrock, x0, jac=grad(rosenbrock), hess=hessian(rosenbrock), method="trust-exact", options=options)
product = minimize(
    rosenbrock, x0, jac=grad(rosenbrock), hessp=hessian_vector_product(rosenbrock), method="Newton-CG", options=options
)
results = {
    "gradient": grad(rosenbrock)(x0),
    "hessian": hessian(rosenbrock)(x0),
    "product": make_hvp(rosenbrock)(x0)[0](np.array([1.0, 2.0, 3.0])),
    "CG": bfgs.x,
    "trust-exact": newton.x,
    "Newton-CG": product.x,
}
