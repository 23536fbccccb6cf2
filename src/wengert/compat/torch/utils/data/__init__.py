"""`torch.utils.data`: datasets, samplers, and batches of samples."""

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from wengert.compat.torch.utils.data.loader import DataLoader, default_collate, get_worker_info
from wengert.compat.torch.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler",
    "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "default_collate", "get_worker_info", "random_split",
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)
