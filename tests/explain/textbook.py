"""The functions that textbooks differentiate: the running example of surveys, and a sigmoid neuron."""

from __future__ import annotations

import numpy as np

import wengert as wg


def running(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def neuron(w0, w1, w2, x0, x1):
    s0 = w0 * x0
    s1 = w1 * x1
    s2 = s0 + s1
    s3 = s2 + w2
    L = wg.sigmoid(s3)
    return L  # noqa: RET504  # the name is what is tested
