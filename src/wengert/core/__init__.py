"""Operations, their kinds, values, specs and trees. This layer knows neither derivatives nor modes."""

import time

IMPORTED = time.time()
"""When this process imported the package. Source files that are newer are not the code that runs."""
