"""Rodas5P: a Rosenbrock method of order 5, L-stable and stiffly accurate, with an interpolant of order 4.

Each stage is the solution of one linear system with the matrix I - h gamma J, where J is the exact Jacobian at the
beginning of the step; no equation is solved by iteration. There is no division by h, so a step of length zero is the
identity, and has the derivatives of a step. The coefficients are those of G. Steinebach, Construction of
Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia Differential Equations package, BIT Numerical
Mathematics 63, 2023.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.implicit.elimination import solve_small
from wengert.integrate.controller import Controller
from wengert.integrate.right_hand_side import Parts, RightHandSide
from wengert.integrate.runge_kutta import Interpolant, Trial, combine
from wengert.ops.linear_algebra.systems import factors_of, solution
from wengert.transforms.jacobians import jacfwd

GAMMA = 0.21193756319429014
A = [
    [],
    [3.0],
    [2.849394379747939, 0.45842242204463923],
    [-6.954028509809101, 2.489845061869568, -10.358996098473584],
    [2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641],
    [-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946],
]
"""Stage i is at the state y + sum A[i][j] k[j]; the last two add the stage before to the state before."""
C = [
    [],
    [-14.155112264123755],
    [-17.97296035885952, -2.859693295451294],
    [147.12150275711716, -1.41221402718213, 71.68940251302358],
    [165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306],
    [24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471],
    [30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
     -28.087943162872662],
    [37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
     -54.66780262877968, -9.48861652309627],
]  # fmt: skip
"""The right-hand side of stage i has gamma sum C[i][j] k[j]."""
TIMES = [0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0]
SLOPES = [0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069]
"""The right-hand side of stage i has h gamma (f + h SLOPES[i] f_t), f_t by the time alone."""
DENSE = [
    [25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
     1.1241088310450404, 0.4272876194431874, -0.17202221070155493],
    [-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
     15.98066361424651, -6.789040303419874, -6.710236069923372],
    [11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
     -59.78993625266729, -0.15582684282751913, 4.883087185713722],
]  # fmt: skip
"""At the fraction x: (1 - x) y + x (y_new + (1 - x) (D_0 + x (D_1 + x D_2))), where D_i = sum DENSE[i][j] k[j]."""


class Rosenbrock:
    """The method on the parts of a state."""

    order = 4

    def __init__(self, equation: RightHandSide):
        self.equation = equation

    def start(self, t: Any, y: Parts) -> Parts:  # noqa: ARG002  # as in Stepper
        """Nothing: a step begins with its own derivative."""
        return []

    def linear_solver(self, t: Any, h: Any, y: Parts) -> Callable[[Parts], Parts]:
        """The solution of systems with the matrix of a step."""
        size = h * GAMMA
        if self.equation.is_vector:
            jacobian = jacfwd(lambda x: self.equation.rate(t, [x])[0])(y[0])
            matrix = np.eye(self.equation.n) - size * jacobian
            factors = factors_of(matrix)
            return lambda b: [solution(matrix, b[0][:, None], factors)[:, 0]]
        rows = self.equation.jacobian(t, y)
        matrix = [[float(i == j) - size * a for j, a in enumerate(row)] for i, row in enumerate(rows)]
        return lambda b: list(solve_small(matrix, b))

    def step(self, t: Any, h: Any, y: Parts, carried: Parts, controller: Controller) -> Trial:  # noqa: ARG002  # the same
        """One step."""
        equation, solve = self.equation, self.linear_solver(t, h, y)
        slope = None if equation.is_autonomous else equation.time_slope(t, y)
        stages: list[Parts] = []
        at = y
        for i, c in enumerate(C):
            if 0 < i < len(A):
                at = add(y, combine(A[i], stages))
            elif i:
                at = add(at, stages[-1])
            rates = equation.rate(t + TIMES[i] * h, at)
            if slope is not None and i < len(SLOPES):
                rates = add(rates, [SLOPES[i] * h * part for part in slope])
            right = [h * GAMMA * part for part in rates]
            stages.append(solve(add(right, [GAMMA * part for part in combine(c, stages)]) if i else right))
        new = add(at, stages[-1])
        error = controller.norm(stages[-1], controller.scale(y, new))
        return Trial(new, [], error, [new, *stages])

    def interpolant(self, t: Any, h: Any, y: Parts, stages: list[Parts]) -> Interpolant:  # noqa: ARG002  # the same
        """The state as a function of the fraction of a step."""
        new, *stages = stages
        first, second, third = (combine(row, stages) for row in DENSE)

        def at(x: Any) -> Parts:
            between = [a + x * (b + x * c) for a, b, c in zip(first, second, third, strict=True)]
            return [(1.0 - x) * a + x * (b + (1.0 - x) * c) for a, b, c in zip(y, new, between, strict=True)]

        return at


def add(a: Parts, b: Parts) -> Parts:
    """The sum of two states."""
    return [u + v for u, v in zip(a, b, strict=True)]
