"""Counts tokens with tiktoken, from rank tables that ship beside the packages: nothing is ever downloaded."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import re
import threading
from binascii import a2b_base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT_ENCODING = "o200k_base"
RANKS_PACKAGE = "tiktoken_ranks"
_ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


@dataclass(frozen=True, slots=True)
class Table:
    """The file of an encoding's ranks, the digest that tiktoken pins for it, and the pattern that cuts a text into what
    is encoded by itself.
    """

    file: str
    digest: str
    pattern: str


# As tiktoken has them in tiktoken_ext.openai_public. Its own loader takes twice as long, and downloads what is missing.
TABLES = {
    "cl100k_base": Table(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"
        r"\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    "o200k_base": Table(
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{_ENDINGS}|"
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{_ENDINGS}|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}
SAME_RANKS = {"o200k_harmony": "o200k_base"}  # they differ in special tokens, and those are never counted as such

# tiktoken's regex engine fails on one run of some 500,000 blanks, and is slower than linear on long runs.
PIECE = 50_000
SEAM = 1_000
_WORD_END = re.compile(r"\S(?= )")


class RanksMissing(RuntimeError):
    """The rank tables are not installed, or not the ones that tiktoken expects."""


class TiktokenCounter:
    """Implements `TokenCounter`. An encoding is loaded at its first use and stays loaded."""

    def __init__(self, ranks: Path | None = None) -> None:
        self._ranks = ranks
        self._loaded: dict[str, Encoding] = {}
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Load the default encoding now; it takes a quarter of a second, which no request should wait for."""
        self._encoding(DEFAULT_ENCODING)

    def encoding_for(self, model: str | None) -> str:
        if model is None:
            return DEFAULT_ENCODING
        from tiktoken.model import encoding_name_for_model

        try:
            name = encoding_name_for_model(model.lower().rsplit("/", 1)[-1])
        except KeyError:
            return DEFAULT_ENCODING
        name = SAME_RANKS.get(name, name)
        return name if name in TABLES else DEFAULT_ENCODING

    def count(self, text: str, encoding: str) -> int:
        loaded = self._loaded.get(encoding) or self._encoding(encoding)
        return sum(len(loaded.encode_ordinary(piece)) for piece in pieces(text))

    def _encoding(self, name: str) -> Encoding:
        if name not in TABLES:
            raise ValueError(f"unknown encoding {name!r}")
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = _load(name, self._ranks or _installed_ranks())
            return self._loaded[name]


def pieces(text: str) -> Iterator[str]:
    """The text in parts that tiktoken can encode.

    A part ends before a space that follows a word: no token crosses that place, so the sum is exact. Only if there is
    no such place within 1,000 characters, the sum may be a token or two too high.
    """
    start = 0
    while len(text) - start > PIECE:
        end = start + PIECE
        seam = max((match.end() for match in _WORD_END.finditer(text, end - SEAM, end)), default=end)
        yield text[start:seam]
        start = seam
    yield text[start:]


def _installed_ranks() -> Path:
    found = importlib.util.find_spec(RANKS_PACKAGE)
    if found is None or found.origin is None:
        raise RanksMissing(f"the package {RANKS_PACKAGE} is not installed: tokens can't be counted without its tables")
    return Path(found.origin).parent


def _load(name: str, ranks: Path) -> Encoding:
    table = TABLES[name]
    try:
        content = (ranks / table.file).read_bytes()
    except FileNotFoundError as error:
        raise RanksMissing(f"the rank table of {name} is not in {ranks}") from error
    if hashlib.sha256(content).hexdigest() != table.digest:
        raise RanksMissing(f"the rank table of {name} in {ranks} is damaged")
    from tiktoken import Encoding

    tokens = map(a2b_base64, content.split()[::2])  # a line is a token and its rank, and stands in the rank's place
    return Encoding(
        name,
        pat_str=table.pattern,
        mergeable_ranks=dict(zip(tokens, itertools.count(), strict=False)),
        special_tokens={},  # they are counted as the text that they are
    )
