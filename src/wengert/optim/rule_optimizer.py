"""Optimisers that consist of an update rule, with two faces.

`Adam(params)` changes tensors: `step()` reads their gradients, and writes parameters and state in place, as one native
program over all parameters. `Adam()`, without parameters, is a pair of functions on trees: `init(params)`, and
`update(params, grads, state)`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.modes import recording
from wengert.modes.tensor import Tensor
from wengert.optim.functional import init_state, update_tree
from wengert.optim.groups import ParameterGroup
from wengert.optim.optimizer import Optimizer
from wengert.optim.rules import Rule, initial_part
from wengert.optim.state_dicts import load_groups, load_state, save_groups


class RuleOptimizer(Optimizer):
    """An optimiser of one `rule`. `state[p]` has the state of a parameter, made when it first has a gradient."""

    rule: ClassVar[Rule]

    def __init__(self, params: Any, **defaults: Any):
        self.state: dict[Tensor, dict[str, Tensor]] = {}
        self._program: Callable[[], Any] | None = None
        super().__init__(params, **defaults)

    def state_of(self, p: Tensor, group: ParameterGroup) -> dict[str, Tensor]:
        """The state of a parameter; what is missing is made, also inside a trace, which captures it."""
        state = self.state.setdefault(p, {})
        for name in group.settings.parts:
            if name not in state:
                start = initial_part(name, group.values_now(), p.shape, p.dtype)
                state[name] = Tensor(numpy_of(p).asarray(start))
        return state

    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Update all parameters that have a gradient. A `closure` computes them first; its loss is returned.

        In a function that is traced, such as a compiled training step, the update becomes part of the program.
        """
        loss = None
        if closure is not None:
            with recording.override(enabled=True):
                loss = closure()
        if recording.current_trace() is None:
            self.program()
        else:
            self.update_parameters()
        return loss

    @property
    def program(self) -> Callable[[], Any]:
        """The update of all parameters as one native program, which writes into their buffers.

        Where there is no compiler, NumPy runs the operations of the rule.
        """
        if self._program is None:
            owner = weakref.ref(self)
            update = lambda: owner().update_parameters()  # type: ignore[union-attr]  # it owns the program
            update.__name__ = self.rule.__name__
            try:
                from wengert.compiler.call.compiled import compile  # LLVM is loaded when something is compiled
            except ImportError:  # there is no compiler for this system
                self._program = update
            else:
                self._program = compile(update)
        return self._program

    def update_parameters(self) -> tuple[()]:
        """Apply the rule to all parameters that have a gradient, and assign the new values and states."""
        with recording.override(enabled=False):
            for group in self.groups():
                hyperparameters = group.hyperparameters()
                for p in group.params:
                    if p.grad is not None:
                        state = self.state_of(p, group)
                        new, new_state = self.apply_rule(p, state, hyperparameters)
                        p[...] = new
                        for name, value in new_state.items():
                            state[name][...] = value
        return ()

    def apply_rule(self, p: Tensor, state: dict[str, Tensor], hyperparameters: dict[str, Any]) -> tuple[Any, Any]:
        """The new value of a parameter that has a gradient, and its new state."""
        return self.rule(p, p.grad, state, **hyperparameters)

    # Functions on trees.

    def init(self, params: Any) -> dict[str, Any]:
        """The state for a tree of parameters, to be passed to the first `update`."""
        return init_state(self.rule, self.defaults, params)

    def update(self, params: Any, grads: Any, state: Mapping[str, Any], **hyperparameters: Any) -> tuple[Any, Any]:
        """The parameters and the state after a step; nothing is changed. `hyperparameters` are for this step only."""
        unknown = hyperparameters.keys() - self.defaults.keys()
        if unknown:
            raise user_error(TypeError, f"{type(self).__name__} has no hyperparameter {min(unknown)!r}")
        return update_tree(self.rule, {**self.defaults, **hyperparameters}, params, grads, state)

    # Saving.

    def state_dict(self) -> dict[str, Any]:
        """Copies of the state of each parameter, by its index, and the hyperparameters of each group."""
        state = {
            i: {name: part.cpu().numpy().copy() for name, part in self.state[p].items()}
            for i, p in enumerate(self.parameters())
            if p in self.state
        }
        return {"state": state, "param_groups": save_groups(self)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`, of this optimiser or of PyTorch's."""
        load_groups(self, state_dict["param_groups"])
        load_state(self, state_dict["state"])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_program": None}
