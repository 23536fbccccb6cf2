"""Expression swell: the logistic map l_{n+1} = 4 l_n (1 - l_n), with l_1 = x, and its derivative.

As a graph, the derivative has a few operations more for each step: what is used twice is computed once. As a formula,
in which everything is written out, it has four times as many.
"""

from importlib.util import find_spec

import wengert as wg
from wengert.transforms.tracing import trace


def logistic(n: int):
    def l_n(x):
        l = x  # noqa: E741
        for _ in range(n - 1):
            l = 4 * l * (1 - l)  # noqa: E741
        return l

    return l_n


print("operations to compute l_n and its derivative\n")
print("   n   l_n   dl_n/dx   dl_n/dx as a formula")
for n in range(1, 11):
    value, slope = trace(logistic(n), 0.3).stats(), trace(wg.grad(logistic(n)), 0.3).stats()
    print(f"  {n:2d}   {value.operations:3d}   {slope.operations:7d}   {slope.tree_size:20,d}")

print("\ndl_4/dx as a graph, one equation for each value that is used more than once\n")
for line in trace(wg.grad(logistic(4)), 0.3).mathematics().splitlines():
    print(f"  {line}")

if find_spec("sympy"):
    print("\ndl_n/dx as a formula\n")
    for n in range(1, 4):
        print(f"  n = {n}:  {trace(wg.grad(logistic(n)), 0.3).to_sympy()}")
