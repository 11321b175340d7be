"""Loads the prompts and hashes them; the hash is stored with what a prompt made."""

from __future__ import annotations

import hashlib
from functools import cache
from html import escape
from pathlib import Path


@cache
def load(name: str) -> str:
    """The text of the prompt in `<name>.md`."""
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


def with_own(task: str, own: str | None) -> str:
    """The task, and within it what an application adds in its own words: these can't close their
    element.
    """
    return (
        task
        if own is None
        else f"{task}\n\n{load('own').replace('{own}', escape(own, quote=False))}"
    )


def hash_of(*texts: str) -> str:
    """What names a prompt: the first twelve digits of its SHA-256; of several parts, joined by an
    empty line.
    """
    return hashlib.sha256("\n\n".join(texts).encode()).hexdigest()[:12]
