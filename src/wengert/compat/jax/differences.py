"""How `wengert.compat.jax` differs from JAX, and what it does not have."""

from wengert.compat.differences import Difference

PEER = "JAX"

DIFFERENCES = (
    Difference(
        "precision",
        "float32 and int32, unless `jax_enable_x64` is set",
        "float64 and int64, as everywhere in Wengert: the same program gives more digits, never fewer. "
        "`dtype=jnp.float32` is kept, and `jax_enable_x64` may be set, not unset",
    ),
    Difference(
        "dtypes of mixed operands",
        "JAX's own promotion: int64 with float32 is float32",
        "NumPy's promotion: int64 with float32 is float64",
    ),
    Difference(
        "`jax.random`",
        "the numbers of Threefry; keys are uint32, or of a dtype of their own",
        "other numbers, a function of the key alone, the same in eager and compiled functions and in batches; a key is "
        "an array of two int64",
    ),
    Difference(
        "an index out of range",
        "is clamped when it is read, dropped when it is written",
        "is an error; `lax.dynamic_slice` and its like clamp, as in JAX",
    ),
    Difference(
        "Python's `if`, `while` and `for` on traced values",
        "an error",
        "become operations in `jit`, and run as they are in `grad`, `jvp` and `vjp`",
    ),
    Difference("reverse mode through `lax.while_loop`", "an error", "the gradient"),
    Difference("reverse mode of a `custom_jvp`, forward mode of a `custom_vjp`", "the first only", "both"),
    Difference(
        "`jnp.linalg.norm` at 0, and `jnp.where` with an untaken branch that has no derivative",
        "NaN",
        "0, and the derivative of the branch that is taken",
    ),
    Difference("the derivative of `jnp.abs` at 0", "1", "0, as in every mode of Wengert"),
    Difference(
        "the gradient of `jax.scipy.linalg.cholesky` and `eigh`, which read one triangle of a symmetric matrix",
        "is spread over both triangles",
        "is in the triangle that is read; that of `jnp.linalg.cholesky` and `eigh` is symmetric, as in JAX",
    ),
    Difference("`nn.dot_product_attention`", "in single precision inside", "in the precision of its arguments"),
    Difference("`grad` of a result of shape (1,)", "an error", "the gradient of its element"),
    Difference("lists in place of arrays", "an error", "are arrays"),
    Difference(
        "dataclasses in trees",
        "leaves, unless they are registered",
        "trees of their fields, unless they are registered",
    ),
    Difference(
        "trees returned by rules of `custom_vjp`", "dicts may have any order", "dicts have the order of the arguments"
    ),
    Difference(
        "`lax.custom_root`, `lax.custom_linear_solve`",
        "derivatives call `tangent_solve` and `transpose_solve`",
        "derivatives are those of Wengert's own solution of the linear equations; `custom_root` has them up to order 3",
    ),
    Difference(
        "`random.gamma` and what is made of it",
        "by rejection",
        "the quantile of a uniform number, with its derivatives",
    ),
    Difference("`make_jaxpr`", "JAX's expression", "Wengert's graph, which prints, evaluates and validates"),
    Difference(
        "`jax.debug.print` in compiled functions",
        "anywhere",
        "not in the body of a loop or in a branch, where it is an error",
    ),
    Difference("`pure_callback`", "any tree of results", "one array"),
    Difference(
        "settings of the compiler (`unroll`, `donate_argnums`, `precision`, `device`)",
        "are used",
        "are accepted, and change nothing",
    ),
    Difference("NaN from real numbers, as `jnp.log(-1.0)`", "silent", "NaN, with NumPy's warning"),
    Difference("devices", "several", "one, the CPU"),
)

ABSENT = {
    "jax.pmap": "jax.vmap",
    "jax.shard_map": "jax.vmap",
    "jax.closure_convert": "the function itself: rules see what functions capture",
    "jax.debug_nans": "wengert.why_nan(f, x), which finds the first NaN",
    "jax.checkpoint_policies": "policy=lambda name: ..., which is asked for each operation of Wengert",
    "jax.core": "jax.Array for the class of all values",
    "jax.export": "pickle, which keeps Wengert's graphs",
    "jax.image": "jnp.interp, or einsum with the matrix of weights",
    "jax.lax.all_gather": "the array itself, outside of vmap",
    "jax.lax.ppermute": "jnp.roll, outside of vmap",
    "jax.lax.conv_transpose": "wengert.signal.convolution_transpose",
    "jax.lax.gather": "x[indices]",
    "jax.lax.scatter": "x.at[indices].set(v)",
    "jax.lax.scatter_add": "x.at[indices].add(v)",
    "jax.lax.scatter_max": "x.at[indices].max(v)",
    "jax.lax.scatter_min": "x.at[indices].min(v)",
    "jax.lax.scatter_mul": "x.at[indices].multiply(v)",
    "jax.lax.reduce": "lax.reduce_sum and its like",
    "jax.lax.fft": "jnp.fft",
    "jax.numpy.r_": "jnp.concatenate",
    "jax.numpy.c_": "jnp.column_stack",
    "jax.numpy.bfloat16": "jnp.float32",
    "jax.numpy.frompyfunc": "jnp.vectorize",
    "jax.numpy.ufunc": "jnp.vectorize",
    "jax.random.poisson": "np.random, outside of jit",
    "jax.random.binomial": "sums of jax.random.bernoulli",
    "jax.random.multinomial": "counts of jax.random.categorical",
    "jax.scipy.linalg.lu_factor": "jax.scipy.linalg.lu",
    "jax.scipy.linalg.lu_solve": "jax.scipy.linalg.solve",
    "jax.scipy.linalg.schur": "jnp.linalg.eig",
    "jax.scipy.signal.fftconvolve": "jax.scipy.signal.convolve",
    "jax.scipy.signal.stft": "jnp.fft.rfft of windows",
    "jax.scipy.interpolate": "jnp.interp",
    "jax.scipy.ndimage": "jnp.interp, or indexing",
    "jax.scipy.stats.gaussian_kde": "jax.vmap of jax.scipy.stats.norm.pdf",
    "jax.debug.breakpoint": "breakpoint(), outside of jit",
    "jax.experimental.io_callback": "jax.debug.callback",
}
