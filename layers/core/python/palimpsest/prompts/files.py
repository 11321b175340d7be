"""Loads the prompts and hashes them. Memories and summaries store the hash of their prompt."""

from __future__ import annotations

import hashlib
from functools import cache
from html import escape
from pathlib import Path


@cache
def load(name: str) -> str:
    """Return the text of the prompt in `<name>.md`."""
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


def with_own(task: str, own: str | None) -> str:
    """Return the task with an application's own instructions in it. These are escaped, so that they
    can't close their element.
    """
    return (
        task
        if own is None
        else f"{task}\n\n{load('own').replace('{own}', escape(own, quote=False))}"
    )


def hash_of(*texts: str) -> str:
    """Return the name of a prompt: the first twelve hexadecimal digits of its SHA-256. Several
    parts are first joined by an empty line.
    """
    return hashlib.sha256("\n\n".join(texts).encode()).hexdigest()[:12]
