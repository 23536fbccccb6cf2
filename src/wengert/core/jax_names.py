"""Names of JAX, autograd, SymPy and CasADi that Wengert has not, and what to use instead.

`docs/coming_from.py` makes a page of it.
"""

from __future__ import annotations

from wengert.core.absent import Ways

JAX: dict[str, Ways] = {
    "Transforms": {
        "jit": "wg.compile(f)",
        "pmap": "wg.vmap(f): large operations use all cores",
        "shard_map": "wg.vmap(f): large operations use all cores",
        "remat": "wg.checkpoint(f)",
        "checkpoint_policies": "wg.checkpoint(f)",
        "make_jaxpr": "wg.trace(f, *args), which prints as a program",
        "eval_shape": "wg.trace(f, *args).outputs[0].spec",
        "ShapeDtypeStruct": "wg.Spec(shape, dtype)",
        "named_call": "f itself",
        "named_scope": "nothing: lines of your source are shown",
        "pure_callback": "wg.primitive, an operation with a rule of your own",
        "custom_derivatives": "wg.custom_vjp and wg.custom_jvp",
        "custom_gradient": "wg.custom_vjp",
        "typeof": "wg.Spec.of(x)",
        "fwd_and_bwd": "value, pullback = wg.vjp(f, x)",
        "custom_batching": "wg.primitive, an operation with a rule of your own",
        "interpreters": "wg.trace(f, *args)",
        "closure_convert": "f itself: what a function captures is found",
    },
    "Modules": {
        "numpy": "NumPy itself: np.sin(x) is differentiable, and wg has the same names",
        "lax": "wg itself: wg.scan, wg.cond, wg.switch, wg.while_loop, wg.fori_loop, wg.map, wg.stop_gradient",
        "scipy": "wg.special, wg.linalg, wg.stats, wg.optimize, wg.integrate, wg.signal",
        "tree_util": "wg.tree",
        "experimental": "wg itself: wg.jet, wg.optimize, wg.integrate.odeint",
        "example_libraries": "wg.optim",
        "debug": "print(x), or wg.explain(f, x)",
        "config": "nothing: float64 is the default",
        "profiler": "wg.compile(f).report(x)",
        "image": "wg.repeat or wg.interp",
        "sharding": "nothing: arrays are on the CPU",
        "dlpack": "wg.from_dlpack(x)",
        "typing": "wg.Array",
        "flatten_util": "wg.tree.ravel(tree)",
        "test_util": "wg.autograd.gradcheck",
    },
    "Trees": {
        "tree_map": "wg.tree.map(f, tree)",
        "tree_flatten": "wg.tree.flatten(tree)",
        "tree_unflatten": "wg.tree.unflatten(structure, leaves)",
        "tree_leaves": "wg.tree.leaves(tree)",
        "tree_structure": "wg.tree.structure(tree)",
        "tree_reduce": "functools.reduce(f, wg.tree.leaves(tree))",
        "ravel_pytree": "wg.tree.ravel(tree)",
        "register_pytree_node": "wg.tree.register(cls, flatten, unflatten), or a dataclass",
        "register_pytree_node_class": "wg.tree.register(cls, flatten, unflatten), or a dataclass",
        "register_dataclass": "the dataclass itself",
        "Partial": "functools.partial",
    },
    "Devices": {
        "device_put": "x.to(device), or wg.asarray(x, device=device)",
        "device_get": "x.detach().cpu().numpy()",
        "devices": "wg.__array_namespace_info__().devices()",
        "local_devices": "wg.__array_namespace_info__().devices()",
        "device_count": "len(wg.__array_namespace_info__().devices())",
        "local_device_count": "len(wg.__array_namespace_info__().devices())",
        "default_device": 'device= where arrays are made: the default is "cpu"',
        "debug_nans": "wg.why_nan(f, x), or wg.autograd.detect_anomaly()",
        "default_backend": 'x.device: new arrays are on "cpu"',
        "block_until_ready": "x itself: operations are done when they return",
        "live_arrays": "gc.get_objects()",
        "clear_caches": "nothing: results are kept by shape and dtype",
        "disable_jit": "f itself, without wg.compile",
        "enable_x64": "nothing: float64 is the default",
        "PRNGKey": "rng = wg.random.default_rng(seed), and draw from rng",
    },
}
"""Of `jax`."""

NUMPY: dict[str, Ways] = {
    "Functions": {
        "bfloat16": "np.float32: NumPy has no bfloat16",
        "float_": "np.float64",
    }
}
"""Of `jax.numpy`, beside the names of NumPy."""

LAX: dict[str, Ways] = {
    "Control": {
        "custom_root": "wg.implicit.custom_root",
        "custom_linear_solve": "wg.implicit.linear_solve",
        "all_gather": "x itself, outside of wg.vmap",
    },
    "Slices": {
        "dynamic_slice": "x[wg.arange(size) + start], or x[start:start + size]",
        "dynamic_slice_in_dim": "wg.take(x, wg.arange(size) + start, axis)",
        "dynamic_update_slice": "x.at[wg.arange(size) + start].set(update)",
        "dynamic_update_slice_in_dim": "x.at[wg.arange(size) + start].set(update)",
        "dynamic_index_in_dim": "wg.take(x, i, axis)",
        "dynamic_update_index_in_dim": "x.at[i].set(update)",
        "slice_in_dim": "a slice: x[start:stop]",
        "index_in_dim": "x[i]",
        "broadcast_in_dim": "wg.broadcast_to(x, shape)",
        "collapse": "x.reshape(shape)",
        "rev": "wg.flip(x, axes)",
    },
    "Functions": {
        "rsqrt": "1.0 / wg.sqrt(x)",
        "integer_pow": "x ** n",
        "logistic": "wg.sigmoid(x)",
        "rem": "wg.fmod(x, y)",
        "is_finite": "wg.isfinite(x)",
        "betainc": "wg.special.betainc(a, b, x)",
        "zeta": "wg.special.zeta(x, q)",
        "select_n": "wg.where(which, on_true, on_false), or wg.choose",
        "shift_left": "x << n",
        "shift_right_logical": "x >> n",
        "shift_right_arithmetic": "x >> n",
        "scatter_sub": "x.at[indices].add(-values)",
        "conv_transpose": "wg.signal.convolution_transpose(x, kernel)",
        "optimization_barrier": "x itself",
        "lgamma": "wg.special.gammaln(x)",
        "erf_inv": "wg.special.erfinv(x)",
        "bessel_i0e": "wg.special.i0e(x)",
        "bessel_i1e": "wg.special.i1e(x)",
        "random_gamma_grad": "rng.gamma(shape), which is differentiable",
        "population_count": "wg.bitwise_count(x)",
        "convert_element_type": "x.astype(dtype)",
        "bitcast_convert_type": "x.detach().numpy().view(dtype)",
        "dot_general": "wg.einsum, or wg.tensordot(a, b, axes)",
        "batch_matmul": "a @ b",
        "conv": "wg.signal.convolution(x, kernel)",
        "conv_general_dilated": "wg.signal.convolution(x, kernel), or wg.nn.functional.conv2d",
        "reduce": "x.sum, x.prod, x.max or x.min",
        "reduce_sum": "x.sum(axis)",
        "reduce_max": "x.max(axis)",
        "reduce_min": "x.min(axis)",
        "reduce_prod": "x.prod(axis)",
        "reduce_window": "wg.nn.functional.max_pool2d or avg_pool2d",
        "cummax": "wg.associative_scan(wg.maximum, x)",
        "cummin": "wg.associative_scan(wg.minimum, x)",
        "cumlogsumexp": "wg.associative_scan(wg.logaddexp, x)",
        "top_k": "i = wg.argsort(-x, axis=-1)[..., :k], and wg.take_along_axis(x, i, axis=-1)",
        "approx_max_k": "wg.argsort(-x, axis=-1)[..., :k]",
        "sort_key_val": "wg.take_along_axis(values, wg.argsort(keys), axis=-1)",
        "iota": "wg.arange(n)",
        "broadcasted_iota": "wg.indices(shape)[axis]",
        "scatter_mul": "x.at[indices].mul(values)",
        "scatter_max": "x.at[indices].max(values)",
        "scatter_min": "x.at[indices].min(values)",
        "segment_sum": "wg.zeros(n).at[segments].add(x)",
    },
}
"""Of `jax.lax`."""

OTHERS: dict[str, dict[str, Ways]] = {
    "jax.nn": {
        "Functions": {
            "swish": "wg.nn.functional.silu(x)",
            "hard_tanh": "wg.nn.functional.hardtanh(x)",
            "hard_sigmoid": "wg.nn.functional.hardsigmoid(x)",
            "hard_swish": "wg.nn.functional.hardswish(x)",
            "hard_silu": "wg.nn.functional.hardswish(x)",
            "soft_sign": "wg.nn.functional.softsign(x)",
            "log_sigmoid": "wg.nn.functional.logsigmoid(x)",
            "logsumexp": "wg.logsumexp(x)",
            "standardize": "(x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)",
            "dot_product_attention": "wg.nn.functional.scaled_dot_product_attention",
            "squareplus": "0.5 * (x + wg.sqrt(x * x + b))",
            "initializers": "wg.nn.init",
        }
    },
    "jax.random": {
        "Keys": {
            "PRNGKey": "rng = wg.random.default_rng(seed), and draw from rng",
            "key": "rng = wg.random.default_rng(seed), and draw from rng",
            "split": "rng.spawn(n), or one rng for all draws",
            "fold_in": "wg.random.default_rng([seed, number])",
            "wrap_key_data": "rng = wg.random.default_rng(seed)",
            "key_data": "rng.bit_generator.state",
        },
        "Draws": {
            "bits": "rng.bytes(n)",
            "truncated_normal": "wg.stats.truncnorm",
            "t": "rng.standard_t(df, size=shape), with rng = wg.random.default_rng(seed)",
            "rademacher": "2 * rng.integers(0, 2, size=shape) - 1",
            "orthogonal": "wg.linalg.qr(rng.standard_normal((n, n)))[0]",
            "ball": "rng.standard_normal(shape), divided by its norm",
        },
    },
    "jax.Array": {
        "Attributes": {
            "block_until_ready": "x itself: operations are done when they return",
            "sharding": "x.device",
            "devices": "x.device",
            "addressable_shards": "x itself: an array is on one device",
            "weak_type": "x.dtype",
            "aval": "wg.Spec.of(x)",
        }
    },
}
"""Of other modules of JAX."""

AUTOGRAD: dict[str, Ways] = {
    "Functions": {
        "egrad": "wg.elementwise_grad(f)",
        "deriv": "wg.derivative(f)",
        "multigrad_dict": "wg.grad(f), whose argument may be a dict",
        "multigrad": "wg.grad(f, argnums=(0, 1))",
        "grad_and_aux": "wg.grad(f, has_aux=True)",
        "grad_named": "wg.grad(f, argnums=0)",
        "holomorphic_grad": "wg.grad(f, holomorphic=True)",
        "hessian_tensor_product": "wg.hvp(f, x, v)",
        "hessian_vector_product": "wg.hvp(f, x, v)",
        "tensor_jacobian_product": "value, pullback = wg.vjp(f, x), and pullback(v)",
        "vector_jacobian_product": "value, pullback = wg.vjp(f, x), and pullback(v)",
        "make_vjp": "value, pullback = wg.vjp(f, x)",
        "make_jvp": "wg.jvp(f, (x,), (v,))",
        "make_hvp": "wg.hvp(f, x, v)",
        "make_ggnvp": "wg.gauss_newton_operator(f, x)",
        "extend": "wg.primitive, wg.custom_vjp and wg.custom_jvp",
        "defvjp": "wg.custom_vjp",
        "defjvp": "wg.custom_jvp",
        "defgrad": "wg.custom_vjp",
        "misc": "wg.tree for flatten, wg.optim for optimizers",
        "isbox": "isinstance(x, wg.Array)",
        "getval": "wg.stop_gradient(x)",
    }
}
"""Of `autograd`."""

SYMBOLIC: dict[str, dict[str, Ways]] = {
    "sympy": {
        "Functions": {
            "symbols": "x, y = wg.symbol('x'), wg.symbol('y')",
            "lambdify": "wg.function([x], [y])",
            "Derivative": "wg.gradients(y, [x])",
            "simplify": "wg.trace(f, x).optimize()",
            "series": "wg.taylor(f, x, order)",
            "Matrix": "wg.tensor(rows)",
            "Piecewise": "wg.where, or wg.piecewise",
            "ln": "wg.log(x)",
            "Abs": "wg.abs(x)",
            "latex": "wg.trace(f, x).latex()",
        }
    },
    "casadi": {
        "Functions": {
            "SX": "wg.symbol('x')",
            "MX": "wg.symbol('x', shape)",
            "DM": "wg.tensor(rows)",
            "vertcat": "wg.concatenate(xs), or wg.stack(xs)",
            "horzcat": "wg.concatenate(xs, axis=1)",
            "vertsplit": "wg.split(x, n)",
            "sumsqr": "(x * x).sum()",
            "if_else": "wg.where(condition, x, y)",
            "Function": "wg.function([x], [y])",
            "jtimes": "wg.jvp(f, (x,), (v,))",
            "mtimes": "a @ b",
            "nlpsol": "wg.optimize.minimize(f, x)",
            "rootfinder": "wg.optimize.root(f, x)",
            "integrator": "wg.integrate.solve_ivp",
            "logic_and": "wg.logical_and(x, y)",
        }
    },
}
"""Of systems that compute with symbols."""

TABLES = {
    "jax": JAX, "jax.numpy": NUMPY, "jax.lax": LAX, **OTHERS, "autograd": AUTOGRAD, **SYMBOLIC,
}  # fmt: skip
