"""Decides by a speaker's name in a text whether the speaker is the user, an assistant, or another
person.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

THE_USER = frozenset({"you", "me", "i", "user", "human", "prompt"})
THE_ASSISTANT = frozenset(
    {"assistant", "ai", "bot", "chatbot", "model", "chatgpt", "gpt", "claude", "gemini", "copilot"}
)
SYSTEM = "system"
_ASIDE = re.compile(r"\s*[(\[].*[)\]]$")
_SAID = re.compile(r"\s+(?:said|says|wrote)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Speakers:
    """Tells speakers apart. `user` has the user's own names, without regard to case. `named` has
    the speakers of the file, if they are given instead of found.
    """

    user: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    @classmethod
    def of(cls, user: Collection[str], named: Collection[str] = ()) -> Speakers:
        return cls(
            frozenset(name.casefold() for name in user),
            frozenset(name.casefold() for name in named),
        )

    def is_known(self, label: str) -> bool:
        """Return whether the label is a speaker, however rarely it occurs."""
        key = plain(label).casefold()
        if self.named:
            return key in self.named | self.user
        return key in self.user | THE_USER | THE_ASSISTANT | {SYSTEM}

    def is_user(self, label: str) -> bool:
        key = plain(label).casefold()
        return key in self.user or (key in THE_USER and key not in self.named)

    def role_of(self, label: str) -> tuple[str, str | None]:
        """Return the role of a speaker, and the name of a speaker who is neither the user nor an
        assistant.
        """
        if self.is_user(label):
            return "user", None
        key = plain(label).casefold()
        if key == SYSTEM:
            return SYSTEM, None
        if key in THE_ASSISTANT and key not in self.named:
            return "assistant", None
        return "user", plain(label)


def plain(label: str) -> str:
    """Return a speaker's name without an aside (`Claude (3.5)`) and a verb (`You said`)."""
    return _SAID.sub("", _ASIDE.sub("", label.strip())).strip()
