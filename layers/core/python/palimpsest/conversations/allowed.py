"""The checks of a configuration: whether the service has the long-term memory that the
configuration needs, whether its models are allowed, and whether it fits into one stored item.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from palimpsest.conversations.configuration import Flush, Strategy
from palimpsest.conversations.message import MAX_MESSAGE_BYTES, Chat
from palimpsest.errors import FieldError, TooLarge, Unprocessable

MAX_SETTINGS_BYTES = 20_000  # in addition to the system message, which is in the same item


def asked_of_memories(config: Strategy) -> str | None:
    """Return the name of the first field that needs long-term memory; None if no field needs it.
    Fields that keep their default do not count.
    """
    fields = {
        "strategy": isinstance(config, Flush) and bool(config.parts),
        "blocks": config.names_blocks and bool(config.blocks),
        "auto_recall": config.auto_recall and "auto_recall" in config.model_fields_set,
    }
    return next((name for name, is_asked in fields.items() if is_asked), None)


def check_allowed(name: str | None, *, field: str, lists: Sequence[Sequence[str] | None]) -> None:
    """Raise `Unprocessable` (`model_not_allowed`) unless every list has the model. The operator
    lists the models that callers may name, because the operator pays for calls. A tenant may list
    fewer.

    A list that is None allows every model. A model that is None is always allowed. The error names
    `field` and the models that are in all lists.
    """
    restricting = [models for models in lists if models is not None]
    if name is None or all(name in models for models in restricting):
        return
    in_all = frozenset(restricting[0]).intersection(*restricting)
    allowed = [model for model in restricting[0] if model in in_all]
    message = f"must be one of: {', '.join(allowed)}" if allowed else "no model may be named here"
    error = FieldError(field, message)
    raise Unprocessable(
        "This model is not allowed here.", code="model_not_allowed", errors=(error,)
    )


def check_room(*, system: Chat | None = None, memory: Any = None) -> None:
    """Raise `TooLarge` if the system message is too large, or if memory configuration and metadata
    together are. One stored item must hold all three.
    """
    for field, value, most in (
        ("system", system, MAX_MESSAGE_BYTES),
        ("memory", memory, MAX_SETTINGS_BYTES),
    ):
        size = len(json.dumps(value, default=dict, ensure_ascii=False).encode())
        if size > most:
            error = FieldError(field, f"has {size} bytes; at most {most} are allowed")
            raise TooLarge(
                "The settings are too large.", code="settings_too_large", errors=(error,)
            )
