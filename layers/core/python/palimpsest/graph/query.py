"""A query in Cypher, after it was checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

MAX_QUERY = 2_000  # characters


@dataclass(frozen=True, slots=True)
class Name:
    """A type that a query names, its position, and whether it is a type of nodes or of edges."""

    text: str
    of: Literal["node", "edge"]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CypherQuery:
    """A query that only reads. It holds the types and parameters that the query names, and its
    properties in the order of the query.
    """

    text: str
    types: tuple[Name, ...]
    properties: tuple[str, ...]
    parameters: frozenset[str]

    def renamed(self, names: Mapping[str, str]) -> str:
        """Return the text with the engine's names for the types of edges. `names` maps types in
        lower case to the engine's names.
        """
        text = self.text
        for name in reversed(self.types):
            if (
                name.of == "edge"
                and (known := names.get(name.text.casefold(), name.text)) != name.text
            ):
                text = f"{text[: name.start]}`{known}`{text[name.end :]}"
        return text
