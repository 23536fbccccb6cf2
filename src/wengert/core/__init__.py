"""What a differentiable operation is: primitives, kinds, values, specs, trees. Knows no calculus and no mode."""
