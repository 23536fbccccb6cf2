"""The running example of the field: f(x1, x2) = ln(x1) + x1*x2 - sin(x2) at (2, 5), from value to gradient descent."""

import numpy as np

import wengert as wg


def f(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def show(text: str) -> None:
    print(f"  {text}")


def main() -> None:
    print("f(x1, x2) = ln(x1) + x1*x2 - sin(x2) at (2, 5)\n")
    x1 = wg.tensor(2.0, requires_grad=True)
    x2 = wg.tensor(5.0, requires_grad=True)
    y = f(x1, x2)
    y.backward()
    show(f"f      = {y.item():.3f}")
    show(f"df/dx1 = {x1.grad.item():.3f}   by hand: 1/x1 + x2      = {1 / 2 + 5:.3f}")
    show(f"df/dx2 = {x2.grad.item():.3f}   by hand: x1 - cos(x2)   = {2 - np.cos(5):.3f}")

    print("\nHow these come about (`wengert explain examples/running_example.py:f x1=2 x2=5`)\n")
    for line in str(wg.explain(f, 2.0, 5.0)).splitlines():
        show(line)

    print("\nGradient descent on (f(x1, x2) - 3)^2, from the same point\n")
    for step in range(41):
        loss = (f(x1, x2) - 3.0) ** 2
        if step % 8 == 0:
            show(f"step {step:2d}   x1 = {x1.item():.4f}   x2 = {x2.item():.4f}   loss = {loss.item():.2e}")
        x1.grad = x2.grad = None
        loss.backward()
        with wg.no_grad():
            x1 -= 0.005 * x1.grad
            x2 -= 0.005 * x2.grad


if __name__ == "__main__":
    main()
