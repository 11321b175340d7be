"""Secrets in messages: how a tenant's rule treats messages that hold secrets, and how secrets are
masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.message import Chat, Message
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.privacy.secrets import holds_secret, masked
from palimpsest.privacy.values import MASK
from palimpsest.tenants.settings import SecretsRule

_KEPT = frozenset({"role", "id", "tool_call_id", "type", "name"})
"""The fields whose values are not text of a speaker, so they are never masked."""


def holding_secrets(drafts: Sequence[Draft]) -> dict[int, Draft]:
    """Return the drafts that hold a secret, by their number. Each has a mask in place of the
    secret.
    """
    shown = {number: _masked(draft) for number, draft in enumerate(drafts)}
    return {
        number: masked_draft
        for number, masked_draft in shown.items()
        if masked_draft != drafts[number]
    }


def _masked(draft: Draft) -> Draft:
    shown = replace(
        draft,
        chat=masked_chat(draft.chat),
        extra=masked_value(draft.extra),
        metadata=masked_fields(draft.metadata),
    )
    return draft if shown == draft else shown


def admitted(
    drafts: Sequence[Draft], masked_drafts: dict[int, Draft], *, rule: SecretsRule
) -> Sequence[Draft]:
    """Return the drafts to store under the tenant's rule for secrets: unchanged, or with
    the masked drafts, by number. Raises `Unprocessable` (`secret_refused`) if the rule refuses
    secrets.
    """
    if rule == "refuse" and masked_drafts:
        errors = tuple(
            FieldError(f"messages.{number}.{_place(drafts[number], shown)}", "holds a secret")
            for number, shown in masked_drafts.items()
        )
        raise Unprocessable(
            "The tenant's settings refuse messages with secrets.",
            code="secret_refused",
            errors=errors,
        )
    if rule == "mask":
        return [masked_drafts.get(number, draft) for number, draft in enumerate(drafts)]
    return drafts


def _place(draft: Draft, shown: Draft) -> str:
    """Return the name of the field in which the draft holds a secret."""
    is_said = (draft.chat, draft.extra) != (shown.chat, shown.extra)
    return "content" if is_said else "metadata"


def without_secrets(message: Message) -> Message:
    chat, extra = masked_chat(message.chat), masked_value(message.extra)
    if chat == message.chat and extra == message.extra:
        return message
    return replace(message, chat=chat, extra=extra)


def masked_chat(chat: Chat) -> Chat:
    """Return the chat message with a mask in place of each secret."""
    is_data = chat.get("role") == "tool"
    return {
        name: value if name in _KEPT else masked_value(value, is_data=is_data)
        for name, value in chat.items()
    }


def masked_value(value: Any, *, is_data: bool = False) -> Any:
    """Return a JSON value with a mask in place of each secret in its texts. With `is_data`, nobody
    said these texts.
    """
    if isinstance(value, str):
        return masked(value, is_data=is_data)
    if isinstance(value, Mapping):
        return {
            name: element if name in _KEPT else masked_value(element, is_data=is_data)
            for name, element in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [masked_value(element, is_data=is_data) for element in value]
    return value


def masked_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with a mask in place of each secret. The name of a field may show that its
    value is a secret, as in `password`.
    """
    return {name: _masked_field(name, value) for name, value in metadata.items()}


def _masked_field(name: str, value: Any) -> Any:
    named = f"{name}: "
    if isinstance(value, str):
        shown = masked(named + value, is_data=True)
        is_kept = shown.startswith(named)
        return shown.removeprefix(named) if is_kept else masked(value, is_data=True)
    if isinstance(value, int) and not isinstance(value, bool):
        return MASK if holds_secret(f"{named}{value}", is_data=True) else value
    if isinstance(value, Mapping):
        return masked_fields(value)
    return masked_value(value, is_data=True)
