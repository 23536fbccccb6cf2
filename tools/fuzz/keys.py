"""Random keys for indexing and assignment, as text."""

from __future__ import annotations

from tools.fuzz.scope import NoStatement, Scope


def some_slice(scope: Scope, n: int) -> str:
    start, stop = (scope.one_of(["", str(scope.number(-n, n))]) for _ in range(2))
    return f"{start}:{stop}" + scope.one_of(["", "", ":-1", ":2", ":-2"])


def basic_key(scope: Scope, shape: tuple[int, ...]) -> str:
    """Integers, slices, an ellipsis, new axes."""
    used = scope.number(0, len(shape))
    from_behind = scope.chance(0.3)
    lengths = shape[len(shape) - used :] if from_behind else shape[:used]
    parts = [str(scope.number(-n, n - 1)) if n and scope.chance(0.5) else some_slice(scope, n) for n in lengths]
    if from_behind or scope.chance(0.15):
        parts = ["...", *parts] if from_behind else [*parts, "..."]
    if scope.chance(0.2):
        parts.insert(scope.number(0, len(parts)), "None")
    return ", ".join(parts) or "..."


def advanced_key(scope: Scope, shape: tuple[int, ...]) -> str:
    """Lists of integers, with repetitions, and known masks, mixed with basic parts."""
    if not shape or 0 in shape:
        raise NoStatement("nothing to index")
    if scope.chance(0.25):
        mask = scope.rng.random(shape[: scope.number(1, len(shape))]) < 0.6
        return f"np.array({mask.tolist()})"
    count = scope.number(1, 4)
    parts = []
    for n in shape[: scope.number(1, len(shape))]:
        indices = [scope.number(-n, n - 1) for _ in range(count)]
        parts.append(scope.one_of([str(indices), f"np.array({indices})", some_slice(scope, n), str(indices[0])]))
    if not any("[" in part for part in parts):
        parts[0] = str([scope.number(-shape[0], shape[0] - 1) for _ in range(count)])
    return ", ".join(parts)


def any_key(scope: Scope, shape: tuple[int, ...]) -> str:
    return advanced_key(scope, shape) if shape and 0 not in shape and scope.chance(0.5) else basic_key(scope, shape)
