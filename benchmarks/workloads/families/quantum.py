"""A quantum circuit on a state vector: layers of rotations and CNOTs, and the energy of an Ising chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_all

LAYERS = 4


def data(qubits: int) -> tuple:
    """Two angles for each qubit of each layer; the state to start from; the energies of the basis states."""
    rng = np.random.default_rng(0)
    start = np.zeros(2**qubits, dtype=np.complex128)
    start[0] = 1.0
    spins = 1.0 - 2.0 * ((np.arange(2**qubits)[:, None] >> np.arange(qubits)) & 1)
    return rng.uniform(-1.0, 1.0, (LAYERS, qubits, 2)), start, (spins[:, 1:] * spins[:, :-1]).sum(axis=1)


def loss_by_matrices(angles: Any, state: Any, energies: Any, face: Face) -> Any:
    """The energy where a rotation is the product of a 2 x 2 matrix with the state."""
    m = face.numpy
    for layer in angles:
        cosines, sines, phases = m.cos(layer[:, 0]), m.sin(layer[:, 0]), m.exp(1j * layer[:, 1])
        low = m.conj(phases)[:, None] * m.stack([cosines, -sines], axis=1)
        high = phases[:, None] * m.stack([sines, cosines], axis=1)
        gates = m.stack([low, high], axis=1)
        for q in range(len(layer)):
            state = m.einsum("ab,lbr->lar", gates[q], state.reshape(2**q, 2, -1)).reshape(-1)
        state = entangle(state, len(layer), m)
    return energy(state, energies, m)


def loss_by_pairs(angles: Any, state: Any, energies: Any, face: Face) -> Any:
    """The energy where a rotation combines the two halves of the state."""
    m = face.numpy
    for layer in angles:
        cosines, sines, phases = m.cos(layer[:, 0]), m.sin(layer[:, 0]), m.exp(1j * layer[:, 1])
        for q in range(len(layer)):
            pairs = state.reshape(2**q, 2, -1)
            a, b = pairs[:, 0], pairs[:, 1]
            low = m.conj(phases[q]) * (cosines[q] * a - sines[q] * b)
            high = phases[q] * (sines[q] * a + cosines[q] * b)
            state = m.stack([low, high], axis=1).reshape(-1)
        state = entangle(state, len(layer), m)
    return energy(state, energies, m)


def entangle(state: Any, qubits: int, m: Any) -> Any:
    """A CNOT of each qubit and the next."""
    for q in range(qubits - 1):
        fours = state.reshape(2**q, 2, 2, -1)
        state = m.stack([fours[:, 0], m.flip(fours[:, 1], (1,))], axis=1).reshape(-1)
    return state


def energy(state: Any, energies: Any, m: Any) -> Any:
    """The energy of neighbours' spins, and of a field across them."""
    total = m.sum(energies * m.abs(state) ** 2)
    for q in range(len(state).bit_length() - 1):
        pairs = state.reshape(2**q, 2, -1)
        total = total + 2.0 * m.sum(m.real(m.conj(pairs[:, 0]) * pairs[:, 1]))
    return total


workloads = [
    Workload(
        name,
        f"the energy of a quantum circuit of 8 and 14 qubits, {LAYERS} layers of rotations {how} and CNOTs: value and "
        "gradient",
        data=data,
        sizes={"small": 8, "large": 14},
        subject="wengert compiled",
        reference="wengert",
        family="complex",
    )
    for name, how in (("quantum", "by `einsum`"), ("quantum-pairs", "of halves of the state"))
]
for made, loss in zip(workloads, (loss_by_matrices, loss_by_pairs), strict=True):
    write_for_all(made, loss, is_compiled_by_torch=False)
