"""The masking of secrets in whole messages: in their content and in the arguments of their
calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from palimpsest.conversations.message import Chat, Message
from palimpsest.privacy.secrets import masked

_KEPT = frozenset({"role", "id", "tool_call_id", "type", "name"})
"""The fields whose values are not text of a speaker, so they are never masked."""


def without_secrets(message: Message) -> Message:
    chat, extra = masked_chat(message.chat), masked_value(message.extra)
    if chat == message.chat and extra == message.extra:
        return message
    return replace(message, chat=chat, extra=extra)


def masked_chat(chat: Chat) -> Chat:
    """Return the chat message with a mask in place of each secret."""
    return {name: each if name in _KEPT else masked_value(each) for name, each in chat.items()}


def masked_value(value: Any) -> Any:
    """Return a JSON value with a mask in place of each secret in its texts."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {name: each if name in _KEPT else masked_value(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [masked_value(each) for each in value]
    return value
