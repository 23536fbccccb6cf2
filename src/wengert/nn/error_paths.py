"""Where in a model an error happened: the path of the module, as a note of the error."""

from __future__ import annotations

from typing import Any

START = "This happened in "


def note_path(error: Exception, module: Any) -> None:
    """Add the module to the path in the error's note; each module that the error passes through calls this."""
    notes: list[str] = getattr(error, "__notes__", [])
    inner, path, innermost = getattr(error, "module_path", (None, "", f"a {type(module).__name__}"))
    name = next((name for name, child in module.named_children() if child is inner), None)
    if name is not None:
        path = f"{name}.{path}" if path else name
    error.module_path = module, path, innermost  # type: ignore[attr-defined]  # for the modules around
    if path:
        note = f"{START}model.{path}, {innermost}."
        if notes and notes[-1].startswith(START):
            notes[-1] = note
        else:
            error.add_note(note)
