"""The treatment of secrets in the messages that callers send, by the tenant's rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.shared import masked_chat, masked_value
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.tenants.settings import SecretsRule


def holding_secrets(drafts: Sequence[Draft]) -> dict[int, Draft]:
    """Return the drafts that hold a secret, by their number. Each has a mask in place of the
    secret.
    """
    shown = {number: _masked(draft) for number, draft in enumerate(drafts)}
    return {number: each for number, each in shown.items() if each != drafts[number]}


def _masked(draft: Draft) -> Draft:
    chat, extra = masked_chat(draft.chat), masked_value(draft.extra)
    return (
        draft
        if (chat, extra) == (draft.chat, draft.extra)
        else replace(draft, chat=chat, extra=extra)
    )


def admitted(
    drafts: Sequence[Draft], found: dict[int, Draft], *, rule: SecretsRule
) -> Sequence[Draft]:
    """Return the drafts to store under the tenant's rule for secrets: unchanged, or with `found`,
    the masked drafts by number. Raises `Unprocessable` (`secret_refused`) if the rule refuses
    secrets.
    """
    if rule == "refuse" and found:
        errors = tuple(
            FieldError(f"messages.{number}.content", "holds a secret") for number in found
        )
        raise Unprocessable(
            "The tenant's settings refuse messages with secrets.",
            code="secret_refused",
            errors=errors,
        )
    if rule == "mask":
        return [found.get(number, draft) for number, draft in enumerate(drafts)]
    return drafts
