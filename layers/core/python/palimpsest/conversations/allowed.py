"""What a memory configuration may ask for: long-term memory where there is some, and models that are allowed."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.conversations.configuration import Flush, Strategy
from palimpsest.errors import FieldError, Unprocessable


def asked_of_memories(config: Strategy) -> str | None:
    """The first field that was given and needs long-term memory; None if none does."""
    asked = {
        "strategy": isinstance(config, Flush) and bool(config.parts),
        "blocks": config.names_blocks and bool(config.blocks),
        "auto_recall": config.auto_recall,
    }
    return next((name for name, is_asked in asked.items() if is_asked), None)


def check_allowed(name: str | None, *, field: str, lists: Sequence[Sequence[str] | None]) -> None:
    """Raise `Unprocessable` (`model_not_allowed`) if a list lacks the model: the operator pays for its calls, and lists
    what callers may name; a tenant may list fewer. A list that is None holds every model; no model (None) is always
    allowed. The error names the `field` and the models that all lists hold.
    """
    given = [each for each in lists if each is not None]
    if name is None or all(name in each for each in given):
        return
    allowed = [model for model in given[0] if all(model in each for each in given)]
    message = f"must be one of: {', '.join(allowed)}" if allowed else "no model may be named here"
    error = FieldError(field, message)
    raise Unprocessable("The operator allows other models only.", code="model_not_allowed", errors=(error,))
