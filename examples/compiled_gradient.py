"""A gradient as native code: what the compiler makes of it, and how much faster it is than running operation by
operation.

The function is the energy of a chain of pendulums, each tied to the next by a spring; its gradient moves the chain to
rest.
"""

import time

import numpy as np

import wengert as wg


def energy(angles, stiffness):
    gravity = 1.0 - np.cos(angles)
    springs = 0.5 * stiffness * np.sin(angles[1:] - angles[:-1]) ** 2
    return gravity.sum() + springs.sum()


def best_time(f, *args) -> float:
    """Seconds for one call, the best of some: whatever else the machine does only adds to it."""
    times = []
    for _ in range(15):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times)


eager = wg.value_and_grad(energy)
compiled = wg.compile(eager)

print("energy and gradient of a chain of pendulums\n")
for n in (10, 1_000, 100_000):
    angles = np.random.default_rng(0).uniform(-1.0, 1.0, n)
    (value, slope), (same_value, same_slope) = eager(angles, 2.0), compiled(angles, 2.0)
    assert np.isclose(value, same_value)
    assert np.allclose(slope, same_slope)
    slow, fast = best_time(eager, angles, 2.0), best_time(compiled, angles, 2.0)
    print(
        f"  {n:7,d} pendulums   eager {1e6 * slow:8.1f} µs   compiled {1e6 * fast:8.1f} µs   {slow / fast:5.1f} times "
        f"faster"
    )

print(f"\nwhat became of it, for {n:,d} pendulums\n\n{compiled.report(angles, 2.0)}\n")

for _ in range(100):
    value, slope = compiled(angles, 2.0)
    angles -= 0.2 * slope
print(f"after 100 steps downhill the energy is {value:.2e}")
