"""Decides whether a caller may name a model: the operator pays for its calls, so the operator lists the models."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.errors import FieldError, Unprocessable


def check(name: str | None, *, field: str, lists: Sequence[Sequence[str] | None]) -> None:
    """Raise `Unprocessable` (`model_not_allowed`) if a list lacks the model. The error names the `field` and the models
    that all lists hold. A list that is None holds every model; no model (None) is always allowed.
    """
    given = [each for each in lists if each is not None]
    if name is None or all(name in each for each in given):
        return
    allowed = [model for model in given[0] if all(model in each for each in given)]
    message = f"must be one of: {', '.join(allowed)}" if allowed else "no model may be named here"
    error = FieldError(field, message)
    raise Unprocessable("The operator allows other models only.", code="model_not_allowed", errors=(error,))
