"""What a differentiable operation is: primitives, kinds, values, specs, trees. Knows no calculus and no mode."""

import time

IMPORTED = time.time()
"""When this process read the sources of the package: those that change later are not the ones that it runs."""
