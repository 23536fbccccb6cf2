"""How the layer differs from autograd, and which names it does not have."""

from wengert.compat.differences import Difference

PEER = "autograd"

DIFFERENCES: list[Difference] = [
    Difference(
        "complex gradients",
        "cotangents are not conjugated: `grad` of a real function is df/dRe - i df/dIm",
        "the same; `wg.grad` gives the conjugate, the direction of steepest ascent",
    ),
    Difference(
        "a result that does not depend on the argument",
        "a zero gradient, and a warning",
        "the same, with other words in the warning",
    ),
    Difference("ties of `max`, `min`, `maximum`, `minimum`", "shared equally", "the same, as everywhere in Wengert"),
    Difference("`np.clip` at a bound", "derivative 0", "the same; the method `x.clip` and `wg.clip` have 1/2"),
    Difference(
        "`linalg.cholesky`, which reads the lower triangle",
        "a symmetric gradient",
        "the same; that of `wg.linalg.cholesky` is in the lower triangle",
    ),
    Difference(
        "points where a formula fails: `norm` and `sqrt` of zero, `prod` with zeros, `sinc(0)`, the branch that "
        "`where` does not take, `eigh` with equal eigenvalues",
        "NaN, or an error",
        "the derivative where it exists or was chosen, as everywhere in Wengert",
    ),
    Difference(
        "functions without a rule: `cumprod`, `qr`, `svd(full_matrices=True)`, `make_jvp` of `hypot` and others",
        "NotImplementedError",
        "differentiable, in both modes",
    ),
    Difference(
        "a rule for one mode alone, by `defvjp` or `defjvp`",
        "the other mode raises NotImplementedError",
        "the other mode transposes the rule",
    ),
    Difference(
        "when a missing rule is noticed",
        "when the function is called",
        "in the backward pass",
    ),
    Difference(
        "`defvjp` of a function of `autograd.numpy`",
        "replaces its rule",
        "an error: rules are for functions that `primitive` made",
    ),
    Difference(
        "the cotangent of a broadcast argument, from a rule without `unbroadcast_f`",
        "keeps the shape of the result",
        "is summed to the shape of the argument",
    ),
    Difference("integers as arguments of `grad`", "an error", "become floats"),
    Difference(
        "containers: `DictBox`, `SequenceBox`",
        "boxes of their own",
        "dicts, lists and tuples with values in them; `isinstance` knows them as boxes",
    ),
    Difference(
        "the type of a box",
        "`type(x) is ArrayBox`",
        "`isinstance(x, ArrayBox)`; the type is one of Wengert, and prints as such",
    ),
    Difference(
        "assignment to elements",
        "an error",
        "an error for plain arrays and for the argument; other values may be changed in place",
    ),
    Difference(
        "derivatives of `odeint`",
        "the adjoint equation from one time to the next, by `odeint`",
        "the continuous adjoint of `wg.integrate`; equal up to the tolerances of the solver",
    ),
    Difference("errors", "often of NumPy", "say what happened, on which line, and what to do"),
]

ABSENT: dict[str, str] = {
    "autograd.builtins.container_take": "an index: `x[i]`",
    "autograd.builtins.container_untake": "`autograd.grad` of a container",
    "autograd.builtins.make_sequence": "`tuple` or `list`",
    "autograd.builtins.sequence_extend_left": "`+`",
    "autograd.builtins.sequence_extend_right": "`+`",
    "autograd.core.SparseBox": "`autograd.extend.SparseObject`",
    "autograd.core.add_outgrads": "`autograd.extend.vspace(x).add`",
    "autograd.core.backward_pass": "`autograd.make_vjp`",
    "autograd.core.primitive_jvps": "`autograd.extend.defjvp`",
    "autograd.core.primitive_vjps": "`autograd.extend.defvjp`",
    "autograd.core.sparse_add": "`autograd.extend.vspace(x).add`",
    "autograd.core.sum_outgrads": "`sum`",
    "autograd.numpy.numpy_boxes.SequenceBox": "`autograd.builtins.SequenceBox`",
    "autograd.numpy.numpy_jvps": "`autograd.extend.defjvp` for functions of one's own",
    "autograd.numpy.numpy_vjps.grad_chooser": "the rules of `autograd.numpy`, which need no other names",
    "autograd.numpy.numpy_vjps.untake": "`autograd.grad` of an index",
    "autograd.numpy.numpy_wrapper.notrace_functions": "`autograd.extend.notrace_primitive`",
    "autograd.numpy.numpy_wrapper.wrap_if_boxes_inside": "`autograd.numpy.array`",
    "autograd.numpy.numpy_wrapper.wrap_intdtype": "`int(autograd.tracer.getval(x))`",
    "autograd.scipy.signal.compute_conv_size": "the shape of what `convolve` returns",
    "autograd.tracer.TraceStack": "`autograd.tracer.trace`",
    "autograd.tracer.box_type_mappings": "`autograd.tracer.isbox`",
    "autograd.tracer.box_types": "`autograd.tracer.isbox`",
    "autograd.tracer.find_top_boxed_args": "`autograd.tracer.isbox`",
    "autograd.tracer.new_box": "`autograd.tracer.trace`",
    "autograd.tracer.notrace_primitives": "`autograd.extend.register_notrace`",
    "autograd.tracer.trace_primitives_map": "the functions of `autograd.numpy`",
    "autograd.tracer.trace_stack": "`autograd.tracer.trace`",
    "autograd.util.quick_grad_check": "`autograd.test_util.check_grads`",
    "autograd.wrap_util.wrap_nary_f": "`autograd.wrap_util.unary_to_nary`",
}
