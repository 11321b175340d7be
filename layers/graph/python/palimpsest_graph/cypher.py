"""Parses a query in Cypher as far as needed to check that it only reads, and to list its types and
properties.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from palimpsest.errors import FieldError, Unprocessable
from palimpsest.graph.query import MAX_QUERY, CypherQuery, Name

MOST_NAMES = 50
DEEPEST = 16
"""How many brackets and `CASE` may be open at once, because the engine's time grows with a power of
this depth.
"""
MOST_TERMS = 300
"""How many words, numbers and texts a query may have."""
MOST_STEPS = 10
"""How many relationships the patterns of a query may have, because the engine compares every order
in which to join them.
"""
BEGINNINGS = frozenset({"match", "optional", "unwind", "with", "return"})
REFUSED = frozenset(
    {
        "alter",
        "analyze",
        "attach",
        "begin",
        "call",
        "checkpoint",
        "comment",
        "commit",
        "copy",
        "create",
        "delete",
        "detach",
        "drop",
        "explain",
        "export",
        "extension",
        "force",
        "foreach",
        "grant",
        "import",
        "insert",
        "install",
        "load",
        "macro",
        "merge",
        "profile",
        "project",
        "remove",
        "rollback",
        "set",
        "truncate",
        "uninstall",
        "update",
        "use",
        "vacuum",
    }
)
"""Words that begin a clause which writes, defines, or reaches files, extensions, the network,
procedures or other graphs. As a name, such a word must be in backticks.
"""
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<quoted>`[^`]+`)"""
    r"""|(?P<parameter>\$[A-Za-z_]\w*)"""
    r"""|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"""
    r"""|(?P<word>[^\W\d]\w*)"""
    r"""|(?P<sign>[()\[\]{}.,:|+\-*/%^=<>!&?~])""",
    re.DOTALL,
)
_OPENED = {")": "(", "]": "[", "}": "{"}
_STEP = re.compile(r"\)<?-(?=[\[-])")
"""The signs with which a relationship begins in a pattern."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int

    @property
    def is_term(self) -> bool:
        return self.kind != "sign"

    @property
    def name(self) -> str | None:
        """Return the identifier if the token is one, else None."""
        return self.text.strip("`") if self.kind in ("word", "quoted") else None


def read_query(text: str) -> CypherQuery:
    """Parse a single query that only reads. Raises `Unprocessable`: `query_writes` for a clause
    that writes or calls something, `query_too_large` if the query is too long, too deep or too wide
    for the engine, and `invalid_query` for all else.
    """
    if len(text) > MAX_QUERY:
        raise _too_large(f"it has more than {MAX_QUERY:,} characters")
    tokens = list(_tokens(text))
    if not tokens or tokens[0].text.casefold() not in BEGINNINGS:
        raise _refused(
            "invalid_query", f"a query begins with {', '.join(sorted(BEGINNINGS)).upper()}"
        )
    before = ""
    for token in tokens:
        if (
            token.kind == "word"
            and token.text.casefold() in REFUSED
            and before not in (".", ":", "|")
        ):
            raise _refused(
                "query_writes",
                f"{token.text.upper()} is refused: a query reads the graph and nothing else",
            )
        before = token.text
    _check_size(tokens)
    types, properties = tuple(_types(tokens)), tuple(dict.fromkeys(_properties(tokens)))
    if len({name.text for name in types}) + len(properties) > MOST_NAMES:
        raise _refused("invalid_query", f"it names more than {MOST_NAMES} types and properties")
    parameters = frozenset(token.text[1:] for token in tokens if token.kind == "parameter")
    return CypherQuery(text, types, properties, parameters)


def _tokens(text: str) -> Iterator[_Token]:
    text = re.sub(r"[\s;]+$", "", text)
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _refused(
                "invalid_query", f"{text[place]!r} can't be there (character {place + 1})"
            )
        place = match.end()
        if match.lastgroup != "space":
            yield _Token(str(match.lastgroup), match[0], match.start(), match.end())


def _types(tokens: Sequence[_Token]) -> Iterator[Name]:
    """Yield the names after `:` and `|` within parentheses (types of nodes) and brackets (types of
    edges). Some of them are not types, because a name that is a value looks the same.
    """
    opened: list[str] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.text in ("(", "[", "{"):
            opened.append(token.text)
        elif token.text in _OPENED:
            if not opened or opened.pop() != _OPENED[token.text]:
                raise _refused(
                    "invalid_query", f"the bracket at character {token.start + 1} closes none"
                )
        elif before and before.text in (":", "|") and token.name and opened and opened[-1] != "{":
            yield Name(token.name, "node" if opened[-1] == "(" else "edge", token.start, token.end)
    if opened:
        raise _refused("invalid_query", f"{opened[-1]} is not closed")


def _properties(tokens: Sequence[_Token]) -> Iterator[str]:
    """Yield the names after `.`, and the names before `:` in braces."""
    for number, token in enumerate(tokens):
        if token.name is None:
            continue
        before = tokens[number - 1].text if number else ""
        after = tokens[number + 1].text if number + 1 < len(tokens) else ""
        if before == "." or (before in ("{", ",") and after == ":"):
            yield token.name


def _check_size(tokens: Sequence[_Token]) -> None:
    """Raise `Unprocessable` (`query_too_large`) for a query that would take the engine long even to
    parse.
    """
    if sum(token.is_term for token in tokens) > MOST_TERMS:
        raise _too_large(f"it has more than {MOST_TERMS} words, numbers and texts")
    if _depth(tokens) > DEEPEST:
        raise _too_large(f"its brackets, or its CASE, are nested more than {DEEPEST} deep")
    signs = "".join(token.text if token.kind == "sign" else " " for token in tokens)
    if len(_STEP.findall(signs)) > MOST_STEPS:
        raise _too_large(f"its patterns have more than {MOST_STEPS} relationships")


def _depth(tokens: Sequence[_Token]) -> int:
    """Return the largest number of brackets and `CASE` that are open at once. `END` closes a
    `CASE`, but no bracket.
    """
    opened: list[str] = []
    deepest, before = 0, ""
    for token in tokens:
        word = token.text.casefold() if token.kind == "word" and before != "." else ""
        if token.text in _OPENED.values() or word == "case":
            opened.append(word or token.text)
            deepest = max(deepest, len(opened))
        elif opened and (token.text in _OPENED or (word == "end" and opened[-1] == "case")):
            opened.pop()
        before = token.text
    return deepest


def _too_large(message: str) -> Unprocessable:
    return _refused("query_too_large", message)


def _refused(code: str, message: str) -> Unprocessable:
    return Unprocessable(
        f"The query can't be run: {message}.", code=code, errors=(FieldError("cypher", message),)
    )
