"""What the elements of a batch compute together, along the axis that `jax.vmap` has named."""

import wengert as wg
from wengert.compat.jax.arrays import lift

PUBLIC = ["axis_index", "pmax", "pmean", "pmin", "psum"]

psum, pmean, pmax, pmin = lift(wg.psum), lift(wg.pmean), lift(wg.pmax), lift(wg.pmin)
axis_index = wg.axis_index
