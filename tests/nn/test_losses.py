"""Losses in every mode, and where the textbook formula fails; `test_torch_values.py` compares them with PyTorch."""

from pathlib import Path

import numpy as np
import pytest
from tests.nn.cases_losses import (
    CASES,
    LABELS,
    LOGITS,
    SIGNS,
    SOME_IGNORED,
    SPEECH,
    SPEECH_LENGTHS,
    WEIGHT,
    WORD_LENGTHS,
    WORDS,
    A,
    B,
)
from tests.nn.torch_cases import stored_values

import wengert as wg
from wengert.nn import functional as f
from wengert.nn import losses

STORED = stored_values(Path(__file__).parent / "stored" / "losses.npz")
INF = float("inf")


def values(case, x):
    """The loss of a case as a function of its differentiated inputs."""
    return case.call(f, *x, *case.constants)


@pytest.mark.parametrize("name", CASES)
def test_compiled_equals_eager(name):
    case = CASES[name]
    gradient = wg.value_and_grad(lambda *x: values(case, x).sum(), argnums=tuple(range(len(case.inputs))))
    value, found = wg.compile(gradient)(*case.inputs)
    expected_value, expected = gradient(*case.inputs)
    np.testing.assert_allclose(value, expected_value, rtol=1e-12)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


def test_targets_may_be_arguments_of_a_compiled_function():
    compiled = wg.compile(lambda x, y: f.cross_entropy(x, y, weight=WEIGHT))
    for target in (LABELS, SOME_IGNORED):
        np.testing.assert_allclose(compiled(LOGITS, target), f.cross_entropy(LOGITS, target, WEIGHT), rtol=1e-13)
    compiled_ctc = wg.compile(lambda x, *rest: f.ctc_loss(f.log_softmax(x, -1), *rest))
    expected = STORED["ctc_loss"]["out"]
    np.testing.assert_allclose(compiled_ctc(SPEECH, WORDS, SPEECH_LENGTHS, WORD_LENGTHS), expected, rtol=1e-12)


UNCHECKED = {
    *[name for name in CASES if name.startswith("ctc_loss_")],
    "gaussian_nll_loss_clamped",  # as in PyTorch, the derivative ignores the clamp
}


@pytest.mark.parametrize("name", [name for name in CASES if name not in UNCHECKED])
def test_gradients_of_gradients(name):
    case = CASES[name]
    inputs = [wg.tensor(x, requires_grad=True) for x in case.inputs]
    assert wg.autograd.gradcheck(lambda *x: values(case, x).sum(), inputs)
    if not name.startswith("ctc"):
        assert wg.autograd.gradgradcheck(lambda *x: values(case, x).sum(), inputs)


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss", "multi_margin_loss"])
def test_vmap_over_rows(name):
    loss = getattr(f, name)
    each = wg.vmap(loss)(LOGITS, LABELS)
    np.testing.assert_allclose(each, loss(LOGITS, LABELS, reduction="none"), rtol=1e-13)
    rows = wg.vmap(wg.grad(loss))(LOGITS, LABELS)
    np.testing.assert_allclose(rows, wg.grad(lambda x: loss(x, LABELS, reduction="sum"))(LOGITS), atol=1e-14)


@pytest.mark.parametrize("name", ["mse_loss", "huber_loss", "kl_div", "cosine_similarity"])
def test_vmap_over_pairs(name):
    loss, rest = getattr(f, name), {"dim": 0} if name == "cosine_similarity" else {}
    x = np.abs(A)
    each = [loss(a, b, **rest) for a, b in zip(x, np.abs(B), strict=True)]
    np.testing.assert_allclose(wg.vmap(lambda a, b: loss(a, b, **rest))(x, np.abs(B)), each, rtol=1e-13)


def test_precision_is_that_of_the_input():
    for name, case in CASES.items():
        x = [a.astype(np.float32) for a in case.inputs]
        assert values(case, x).dtype == np.float32, name


# Where the textbook formula fails


def test_large_logits():
    x = wg.tensor([[1e4, 0.0], [0.0, -1e4]], requires_grad=True)
    loss = f.cross_entropy(x, [1, 0], reduction="none")
    loss.sum().backward()
    np.testing.assert_array_equal(loss.detach().numpy(), [1e4, 0.0])
    np.testing.assert_array_equal(x.grad.numpy(), [[1.0, -1.0], [0.0, 0.0]])


def test_impossible_classes():
    x = wg.tensor([[0.0, -INF, 1.0]], requires_grad=True)
    f.cross_entropy(x, [2]).backward()
    assert np.isfinite(x.grad.numpy()).all()
    assert x.grad.numpy()[0, 1] == 0
    np.testing.assert_allclose(f.cross_entropy(x, [[0.5, 0.0, 0.5]]).detach().numpy(), 0.5 + np.log1p(np.exp(-1)))


def test_logits_far_from_zero():
    x = wg.tensor([800.0, -800.0, 40.0, -40.0], requires_grad=True)
    loss = f.binary_cross_entropy_with_logits(x, [1.0, 0.0, 1.0, 0.0], reduction="none")
    loss.sum().backward()
    np.testing.assert_allclose(loss.detach().numpy(), [0.0, 0.0, np.exp(-40.0), np.exp(-40.0)], rtol=1e-15)
    assert np.isfinite(x.grad.numpy()).all()


def test_probabilities_of_zero_and_one():
    x = wg.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    loss = f.binary_cross_entropy(x, [0.0, 1.0, 1.0, 0.0], reduction="none")
    loss.sum().backward()
    np.testing.assert_array_equal(loss.detach().numpy(), [0.0, 0.0, 100.0, 100.0])
    assert np.isfinite(x.grad.numpy()).all()


def test_all_targets_are_ignored():
    x = wg.tensor(LOGITS, requires_grad=True)
    loss = f.cross_entropy(x, np.full(5, -100))
    loss.backward()
    assert np.isnan(loss.detach().numpy())  # as in PyTorch
    np.testing.assert_array_equal(x.grad.numpy(), 0.0)
    assert f.cross_entropy(LOGITS, np.full(5, -100), reduction="sum") == 0


def test_distributions_with_zeros():
    x = wg.tensor([[0.0, -INF]], requires_grad=True)
    loss = f.kl_div(x, [[1.0, 0.0]], reduction="batchmean")
    loss.backward()
    assert loss.detach().numpy() == 0
    np.testing.assert_array_equal(x.grad.numpy(), [[-1.0, 0.0]])
    assert f.kl_div([[0.0, -INF]], [[0.0, -INF]], reduction="sum", log_target=True) == 0


def test_equal_and_zero_vectors():
    x = wg.tensor(np.zeros((2, 3)), requires_grad=True)
    f.cosine_embedding_loss(x, x, [1, -1]).backward()
    f.triplet_margin_loss(x, x, x).backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_ctc_of_a_target_that_does_not_fit():
    log_probs = wg.tensor(f.log_softmax(SPEECH, -1), requires_grad=True)
    lengths = np.array([2, 5, 6])  # two equal labels and a third need four steps
    assert f.ctc_loss(log_probs.detach(), WORDS, lengths, WORD_LENGTHS, reduction="none").numpy()[0] == INF
    f.ctc_loss(log_probs, WORDS, lengths, WORD_LENGTHS, zero_infinity=True).backward()
    assert np.isfinite(log_probs.grad.numpy()).all()
    np.testing.assert_array_equal(log_probs.grad.numpy()[:, 0], 0.0)
    np.testing.assert_array_equal(log_probs.grad.numpy()[6:, 1], 0.0)  # steps behind the end


def test_ctc_of_empty_sequences():
    log_probs = f.log_softmax(SPEECH, -1)
    empty = f.ctc_loss(log_probs, np.zeros((3, 0), int), [7, 1, 0], [0, 0, 0], reduction="none")
    np.testing.assert_allclose(empty, [-log_probs[:, 0, 0].sum(), -log_probs[0, 1, 0], 0.0], rtol=1e-13)


def test_ctc_sums_over_all_alignments():
    """The likelihood by enumeration of all sequences of labels."""
    log_probs = f.log_softmax(SPEECH[:4, :1, :3], -1)

    def collapse(path):
        return [k for i, k in enumerate(path) if k and (not i or path[i - 1] != k)]

    paths = [p for p in np.ndindex(3, 3, 3, 3) if collapse(p) == [1, 2]]
    total = sum(np.exp(sum(log_probs[t, 0, k] for t, k in enumerate(p))) for p in paths)
    np.testing.assert_allclose(f.ctc_loss(log_probs, [[1, 2]], [4], [2], reduction="sum"), -np.log(total), rtol=1e-13)
    np.testing.assert_allclose(f.ctc_loss(log_probs[:, 0], [1, 2], 4, 2, reduction="sum"), -np.log(total), rtol=1e-13)


# Modules


MODULES = {
    "MSELoss": ({}, "mse_loss"),
    "L1Loss": ({"reduction": "sum"}, "l1_loss"),
    "SmoothL1Loss": ({"beta": 0.6}, "smooth_l1_loss"),
    "HuberLoss": ({"delta": 0.6, "reduction": "none"}, "huber_loss"),
    "KLDivLoss": ({"reduction": "batchmean"}, "kl_div"),
    "CrossEntropyLoss": ({"weight": WEIGHT}, "cross_entropy_weight"),
    "NLLLoss": ({"weight": WEIGHT}, "nll_loss"),
    "BCELoss": ({}, "binary_cross_entropy"),
    "BCEWithLogitsLoss": ({}, "binary_cross_entropy_with_logits"),
    "HingeEmbeddingLoss": ({"margin": 0.7}, "hinge_embedding_loss"),
    "MultiMarginLoss": ({"margin": 0.7}, "multi_margin_loss"),
    "CosineSimilarity": ({"dim": 0}, "cosine_similarity"),
    "CosineEmbeddingLoss": ({"margin": -0.3}, "cosine_embedding_loss"),
    "PairwiseDistance": ({"p": 3.0, "keepdim": True}, "pairwise_distance"),
    "TripletMarginLoss": ({"margin": 0.8}, "triplet_margin_loss"),
    "PoissonNLLLoss": ({"full": True}, "poisson_nll_loss"),
    "GaussianNLLLoss": ({"full": True}, "gaussian_nll_loss"),
    "MarginRankingLoss": ({"margin": 0.3}, "margin_ranking_loss"),
    "SoftMarginLoss": ({}, "soft_margin_loss"),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    settings, case = MODULES[name]
    module = getattr(losses, name)(**settings)
    arrays = [*CASES[case].inputs, *CASES[case].constants]
    given = arrays[:-1] if "weight" in settings else arrays
    np.testing.assert_allclose(np.asarray(wg.tensor(module(*given))), STORED[case]["out"], rtol=1e-10)


def test_module_of_ctc_and_state():
    module = losses.CTCLoss(blank=4, reduction="none")
    found = module(f.log_softmax(SPEECH, -1), WORDS, SPEECH_LENGTHS, np.array([3, 2, 1]))
    np.testing.assert_allclose(found, STORED["ctc_loss_blank"]["out"], rtol=1e-10)
    weighted = losses.CrossEntropyLoss(weight=WEIGHT)
    assert list(weighted.state_dict()) == ["weight"]
    assert not list(weighted.parameters())


def test_every_loss_is_tested():
    assert sorted([*MODULES, "CTCLoss"]) == sorted(losses.__all__)


# Bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: f.cross_entropy(LOGITS, [0, 1, 2, 3, 4]), "target 4, for 4 classes"),
        (lambda: f.cross_entropy(LOGITS, wg.tensor([0, 1, -1, 3, 0])), "target -1, for 4 classes"),
        (lambda: f.nll_loss(LOGITS[0], 7), "target 7, for 4 classes"),
        (lambda: f.multi_margin_loss(LOGITS, [0, 1, 2, 3, 9]), "target 9, for 4 classes"),
        (lambda: f.ctc_loss(SPEECH, WORDS + 4, SPEECH_LENGTHS, WORD_LENGTHS), "for 5 classes"),
        (lambda: f.cross_entropy(LOGITS, LABELS[:4]), r"\(5, 4\) and class indices of shape \(4,\)"),
        (lambda: f.cross_entropy(LOGITS, LABELS, weight=WEIGHT[:2]), r"weight of shape \(2,\), for 4 classes"),
        (lambda: f.cross_entropy(LOGITS, LABELS, label_smoothing=2.0), "between 0 and 1, not 2.0"),
        (lambda: f.mse_loss(LOGITS, LOGITS[:, :1]), r"\(5, 4\) and a target of shape \(5, 1\)"),
        (lambda: f.mse_loss(A, B, reduction="avg"), "'none', 'mean' or 'sum', not 'avg'"),
        (lambda: f.binary_cross_entropy(A, B), "is not a probability"),
        (lambda: f.cosine_embedding_loss(A, B, SIGNS[:2]), r"a target of shape \(2,\)"),
        (lambda: f.ctc_loss(SPEECH, WORDS, [8, 5, 6], WORD_LENGTHS), "8 among input_lengths"),
        (lambda: f.ctc_loss(SPEECH, WORDS, SPEECH_LENGTHS, [4, 1, 1]), "4 among target_lengths"),
        (lambda: f.ctc_loss(SPEECH, WORDS, [1, 2], WORD_LENGTHS), "2 input_lengths, for a batch of 3"),
        (lambda: f.ctc_loss(SPEECH, [1, 2], SPEECH_LENGTHS, WORD_LENGTHS), "sum to 5"),
        (lambda: f.huber_loss(A, B, delta=0.0), "delta=0.0"),
        (lambda: losses.MSELoss(reduction="avg"), "not 'avg'"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "test_losses.py" in str(error.value)


def test_class_indices_are_integers():
    with pytest.raises(TypeError, match="targets of dtype float64"):
        f.cross_entropy(LOGITS, LABELS * 1.0)


def test_one_hot():
    np.testing.assert_array_equal(f.one_hot(LABELS), np.eye(4, dtype=int)[LABELS])
    assert f.one_hot(LABELS, 6).shape == (5, 6)
    with pytest.raises(ValueError, match="target 3, for 2 classes"):
        f.one_hot(LABELS, 2)
    with pytest.raises(ValueError, match="Pass num_classes"):
        wg.compile(f.one_hot)(LABELS)
