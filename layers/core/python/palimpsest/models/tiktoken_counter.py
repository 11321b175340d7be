"""Counts tokens with tiktoken. The rank tables ship beside the packages, so nothing is
downloaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import re
import threading
from binascii import a2b_base64
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT_ENCODING = "o200k_base"
RANKS_PACKAGE = "tiktoken_ranks"
_ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


@dataclass(frozen=True, slots=True)
class RankTable:
    """The data of an encoding. It has the file of its ranks, the digest that tiktoken pins for that
    file, and the digest of the same table when sorted. The pattern splits a text into the parts
    that are encoded separately.
    """

    file: str
    digest: str
    sorted_digest: str
    pattern: str


# These are the data of tiktoken_ext.openai_public. tiktoken's own loader takes twice as long, and
# downloads missing files.
TABLES = {
    "cl100k_base": RankTable(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        "cbf63744d5484d5279a1e70fc806b1b7a8184afca13e5d188db349f23b88bdc3",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"
        r"\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    "o200k_base": RankTable(
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "143dc309fa8d1d37688e454f2d00ebe8d2dad69e730f910eada5604940e6409e",
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{_ENDINGS}|"
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{_ENDINGS}|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}
IN_ASCII = {
    r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}": "A-Z",
    r"\p{Ll}\p{Lm}\p{Lo}\p{M}": "a-z",
    r"\p{L}++": "[A-Za-z]++",
    r"\p{N}{": "[0-9]{",
    r"\p{L}\p{N}": "A-Za-z0-9",
}
"""Parts of the patterns, each with a part that matches the same in texts of ASCII only."""
# the two encodings differ only in special tokens, which are never counted as such
SAME_RANKS = {"o200k_harmony": "o200k_base"}

# tiktoken's regex engine fails on one run of some 500,000 blanks, and is slower than linear on long
# runs.
PIECE = 50_000
SEAM = 1_000
_WORD_END = re.compile(r"\S(?= )")


# Ranks are looked up one by one only up to these limits: the size of a text, the size of a part of
# it that is encoded by itself, and the number of lookups of a process.
SHORT = 4_000  # characters
SHORT_PART = 128  # characters
MOST_LOOKED_UP = 60_000
NO_RANK = 2**32  # the rank of bytes that are no token, above all others


class RanksMissing(RuntimeError):
    """Raised if the rank tables are not installed, or are not the tables that tiktoken expects."""


class TiktokenCounter:
    """Implements `TokenCounter`. The first long text loads an encoding, which stays loaded. Until
    then, short texts are counted without the encoding, because most processes never need it
    (docs/adr/0049).
    """

    def __init__(self, ranks: Path | None = None) -> None:
        self._ranks = ranks
        self._loaded: dict[str, Encoding] = {}
        self._short = cache(self._sorted_ranks)
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Prepare to count short texts in the default encoding."""
        self._short(DEFAULT_ENCODING)

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
        loaded = self._loaded.get(encoding)
        if loaded is None and len(text) <= SHORT and encoding in TABLES:
            short = self._short(encoding)
            if short is not None and (counted := short.count(text)) is not None:
                return counted
        loaded = loaded or self._encoding(encoding)
        if len(text) <= PIECE:
            return len(loaded.encode_ordinary(text))
        return sum(len(loaded.encode_ordinary(piece)) for piece in pieces(text))

    def _encoding(self, name: str) -> Encoding:
        if name not in TABLES:
            raise ValueError(f"unknown encoding {name!r}")
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = _load(name, self._ranks or _installed_ranks())
            return self._loaded[name]

    def _sorted_ranks(self, name: str) -> SortedRanks | None:
        """Return the sorted ranks of the encoding, or None if the tables were installed without
        sorted ones.
        """
        ranks, table = self._ranks or _installed_ranks(), TABLES[name]
        if not (ranks / f"{table.file}.sorted").is_file():
            return None
        return SortedRanks(
            _checked(ranks / f"{table.file}.sorted", table.sorted_digest, name), table.pattern
        )


class SortedRanks:
    """Counts short texts in an encoding without loading the encoding. It merges byte pairs as
    tiktoken does, with ranks that it looks up in the sorted table. layers/runtime/ranks.py
    describes that table.
    """

    def __init__(self, content: bytes, pattern: str) -> None:
        self._pattern = pattern
        self._ascii_parts = re.compile(_in_ascii(pattern), re.ASCII).findall
        self._size = int.from_bytes(content[:4], "little")
        numbers = 4 + 8 * self._size
        self._numbers = memoryview(content)[4:numbers].cast("I")
        self._tokens = content[numbers:]
        self._rank = lru_cache(50_000)(self._looked_up)
        self._count = lru_cache(20_000)(self._merged)

    def count(self, text: str) -> int | None:
        """Return the number of tokens in the text.

        Returns None if the text has a part that would take long, or an unpaired surrogate. Also
        returns None once the lookups have taken as long as loading the encoding would.
        """
        parts = self._ascii_parts(text) if text.isascii() else self._parts(text)
        if (
            self._rank.cache_info().misses > MOST_LOOKED_UP
            or max(map(len, parts), default=0) > SHORT_PART
        ):
            return None
        try:
            return sum(map(self._count, parts))
        except UnicodeEncodeError:
            return None

    @cached_property
    def _parts(self) -> Callable[[str], list[str]]:
        """Return a function that splits any text into parts. It uses a library that takes long to
        load.
        """
        import regex  # type: ignore[import-untyped] # it has no types

        split: Callable[[str], list[str]] = regex.compile(self._pattern).findall
        return split

    def _merged(self, part: str) -> int:
        whole = part.encode()
        if self._rank(whole) != NO_RANK:
            return 1
        tokens = [bytes((byte,)) for byte in whole]
        ranks = [self._rank(left + right) for left, right in pairwise(tokens)]
        while ranks and (least := min(ranks)) != NO_RANK:
            place = ranks.index(least)
            tokens[place : place + 2] = [tokens[place] + tokens[place + 1]]
            del ranks[place]
            if place:
                ranks[place - 1] = self._rank(tokens[place - 1] + tokens[place])
            if place < len(ranks):
                ranks[place] = self._rank(tokens[place] + tokens[place + 1])
        return len(tokens)

    def _looked_up(self, token: bytes) -> int:
        place = bisect_left(range(self._size), token, key=self._token)
        return (
            self._numbers[self._size + place]
            if place < self._size and self._token(place) == token
            else NO_RANK
        )

    def _token(self, place: int) -> bytes:
        return self._tokens[self._numbers[place - 1] if place else 0 : self._numbers[place]]


def _in_ascii(pattern: str) -> str:
    """Return the pattern for texts in ASCII only, in a form that Python's own `re` understands."""
    return reduce(lambda known, replacement: known.replace(*replacement), IN_ASCII.items(), pattern)


def pieces(text: str) -> Iterator[str]:
    """Yield the text in parts that tiktoken can encode.

    A part ends before a space that follows a word. No token crosses such a place, so the sum of the
    parts' counts is exact. If there is no such place within 1,000 characters, the sum may be one or
    two tokens too high.
    """
    start = 0
    while len(text) - start > PIECE:
        end = start + PIECE
        seam = max(
            (match.end() for match in _WORD_END.finditer(text, end - SEAM, end)), default=end
        )
        yield text[start:seam]
        start = seam
    yield text[start:]


def _installed_ranks() -> Path:
    spec = importlib.util.find_spec(RANKS_PACKAGE)
    if spec is None or spec.origin is None:
        raise RanksMissing(
            f"the package {RANKS_PACKAGE} is not installed: tokens can't be counted without its "
            f"tables"
        )
    return Path(spec.origin).parent


def _checked(file: Path, digest: str, name: str) -> bytes:
    try:
        content = file.read_bytes()
    except FileNotFoundError as error:
        raise RanksMissing(f"the rank table of {name} is not in {file.parent}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise RanksMissing(f"the rank table of {name} in {file.parent} is damaged")
    return content


def _load(name: str, ranks: Path) -> Encoding:
    table = TABLES[name]
    content = _checked(ranks / table.file, table.digest, name)
    from tiktoken import Encoding

    # a line is a token and its rank; lines are in the order of ranks
    tokens = map(a2b_base64, content.split()[::2])
    return Encoding(
        name,
        pat_str=table.pattern,
        mergeable_ranks=dict(zip(tokens, itertools.count(), strict=False)),
        special_tokens={},  # they are counted as the text that they are
    )
