"""What `torch.nn`, `torch.optim`, `torch.utils` and `torch.distributions` do differently here, and what they lack."""

from wengert.compat.differences import Difference

DIFFERENCES: list[Difference] = [
    Difference("numbers of initial weights, dropout and samples", "those of its generators", "NumPy's, from the same calls"),
    Difference("`nn.ReLU(inplace=True)` and its like", "change their input", "return the result; the input stays"),
    Difference("tensors of `state_dict()`", "share memory with the module", "keep the numbers of the moment"),
    Difference("`torch.save`, `torch.load`", "a format of its own", "safetensors for tensors, JSON for the rest"),
    Difference("`DataLoader(num_workers=n)`", "processes", "loads in the calling process"),
    Difference("`optimizer.step()`", "several kernels", "one native program, compiled at the first step"),
]

ABSENT: dict[str, str] = {}
