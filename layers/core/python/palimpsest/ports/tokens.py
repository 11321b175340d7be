"""Counting tokens."""

from __future__ import annotations

from typing import Protocol


class TokenCounter(Protocol):
    def encoding_for(self, model: str | None) -> str:
        """The encoding of a model; `o200k_base` for None and for a model it does not know. Never fails."""

    def count(self, text: str, encoding: str) -> int:
        """Tokens of `text`; special-token texts such as `<|endoftext|>` are counted as the plain text they are.

        Takes time in proportion to the text, whatever it repeats. Raises `ValueError` for an unknown encoding.
        """
