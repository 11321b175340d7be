"""Reads that something was brought to another release ("we upgraded to Python 3.12"), and puts that
release into known statements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from palimpsest.memory.meaning.reading import any_of

_RELEASE = r"(?:version )?v?(?P<release>\d+(?:\.\d+)*)(?![\w%])"
_TO_A_RELEASE = re.compile(
    rf"(?<!\w)(?:to|auf|vers|à|a) (?P<name>[^\W\d_][\w+#-]*) {_RELEASE}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Release:
    """The name of something and its new release: "python" and "3.12"."""

    name: str
    release: str


def release_of(sentence: str) -> Release | None:
    """Return the release to which a sentence says that something was brought."""
    if any_of("upgraded").search(sentence) is None:
        return None
    match = _TO_A_RELEASE.search(sentence)
    return None if match is None else Release(match["name"], match["release"])


def with_release(content: str, by: Release) -> str | None:
    """Return the content with the new release; None if it has no other release of this name."""
    known = re.search(rf"(?i)(?<!\w){re.escape(by.name)} {_RELEASE}", content)
    if known is None or known["release"] == by.release:
        return None
    return content[: known.start("release")] + by.release + content[known.end("release") :]
