"""First-order optimisers: one update rule each, with PyTorch's names and defaults of hyperparameters."""

from __future__ import annotations

from typing import Any

from wengert.core.errors import user_error
from wengert.optim import rules
from wengert.optim.rule_optimizer import RuleOptimizer

Betas = tuple[float, float]


class SGD(RuleOptimizer):
    """Gradient descent, with momentum (Nesterov's too), dampening and weight decay.

    >>> import wengert as wg
    >>> p = wg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = SGD([p], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (p * p).sum().backward()
    ...     optimizer.step()
    >>> print(p.detach())
    tensor([ 0.46, -0.92])
    """

    rule = rules.sgd

    def __init__(
        self,
        params: Any = None,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ):
        if nesterov and (not momentum or dampening):
            raise user_error(
                ValueError,
                f"Nesterov's momentum with momentum={momentum}, dampening={dampening}",
                "It needs a momentum, and no dampening.",
            )
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
        )


class Adam(RuleOptimizer):
    """Adam (Kingma and Ba 2014): the mean of gradients over the root of the mean of their squares.

    Without parameters, it is a pair of functions on trees:

    >>> import numpy as np
    >>> optimizer = Adam(lr=0.1)
    >>> params = {"w": np.array([1.0, -2.0])}
    >>> state = optimizer.init(params)
    >>> params, state = optimizer.update(params, {"w": 2 * params["w"]}, state)
    >>> np.round(params["w"], 6), state["step"]
    (array([ 0.9, -1.9]), np.float64(1.0))
    """

    rule = rules.adam

    def __init__(
        self,
        params: Any = None,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ):
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize
        )


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter 2017).

    >>> optimizer = AdamW(lr=0.1, weight_decay=0.5)
    >>> optimizer.update(2.0, 0.0, optimizer.init(2.0))[0]
    np.float64(1.9)
    """

    rule = rules.adamw

    def __init__(
        self,
        params: Any = None,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class Adamax(RuleOptimizer):
    """Adam with the maximum norm (Kingma and Ba 2014).

    >>> optimizer = Adamax(lr=0.1)
    >>> optimizer.update(2.0, 4.0, optimizer.init(2.0))[0].round(6)
    np.float64(1.9)
    """

    rule = rules.adamax

    def __init__(
        self,
        params: Any = None,
        lr: float = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)


class NAdam(RuleOptimizer):
    """Adam with Nesterov's momentum (Dozat 2016).

    >>> optimizer = NAdam(lr=0.1)
    >>> optimizer.update(2.0, 4.0, optimizer.init(2.0))[0].round(4)
    np.float64(1.8944)
    """

    rule = rules.nadam

    def __init__(
        self,
        params: Any = None,
        lr: float = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ):
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
        )


class RAdam(RuleOptimizer):
    """Adam with a rectified variance (Liu et al. 2019): momentum alone in the first steps.

    >>> optimizer = RAdam(lr=0.1)
    >>> optimizer.update(2.0, 4.0, optimizer.init(2.0))[0].round(6)
    np.float64(1.6)
    """

    rule = rules.radam

    def __init__(
        self,
        params: Any = None,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ):
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
        )


class RMSprop(RuleOptimizer):
    """The gradient over the root of the mean of its squares (Tieleman and Hinton 2012), or of its variance (centered).

    >>> optimizer = RMSprop(lr=0.1)
    >>> optimizer.update(2.0, 4.0, optimizer.init(2.0))[0].round(6)
    np.float64(1.0)
    """

    rule = rules.rmsprop

    def __init__(
        self,
        params: Any = None,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ):
        super().__init__(
            params,
            lr=lr,
            alpha=alpha,
            eps=eps,
            weight_decay=weight_decay,
            momentum=momentum,
            centered=centered,
            maximize=maximize,
        )


class Adagrad(RuleOptimizer):
    """The gradient over the root of the sum of its squares (Duchi et al. 2011).

    >>> optimizer = Adagrad(lr=0.1)
    >>> optimizer.update(2.0, 4.0, optimizer.init(2.0))[0].round(6)
    np.float64(1.9)
    """

    rule = rules.adagrad

    def __init__(
        self,
        params: Any = None,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ):
        super().__init__(
            params,
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
            maximize=maximize,
        )


class Adadelta(RuleOptimizer):
    """Steps as long as earlier ones, relative to the gradient (Zeiler 2012).

    >>> optimizer = Adadelta()
    >>> optimizer.update(2.0, 4.0, optimizer.init(2.0))[0].round(6)
    np.float64(1.996838)
    """

    rule = rules.adadelta

    def __init__(
        self,
        params: Any = None,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)


class Lion(RuleOptimizer):
    """The sign of the momentum (Chen et al. 2023): all elements move by the same length.

    >>> optimizer = Lion(lr=0.1)
    >>> optimizer.update(2.0, 4.0, optimizer.init(2.0))[0]
    np.float64(1.9)
    """

    rule = rules.lion

    def __init__(
        self,
        params: Any = None,
        lr: float = 1e-4,
        betas: Betas = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize)
