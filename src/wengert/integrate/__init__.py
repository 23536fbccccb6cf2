"""Integration, differentiable: initial value problems (`solve_ivp`, `odeint`) and definite integrals (`quad`)."""

from wengert.integrate.ode import odeint, solve_ivp
from wengert.integrate.quadrature import quad

__all__ = ["odeint", "quad", "solve_ivp"]
