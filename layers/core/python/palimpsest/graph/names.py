"""The ids of entities: how an id is made of type and name, and which ids mean the same entity."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.text.folding import normalized

MADE = "ent_"
"""The prefix of made ids of entities."""


def entity_id(kind: str, name: str) -> str:
    """The id of an entity whose caller gave none. The same type and name, in any case of letters,
    have the same id.
    """
    return MADE + digest(kind, normalized(name))


def digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Names:
    """Entities of the same type and name are one, whatever ids they were stored under. `ids` has
    the id under which one is listed by its type and normalized name, `also` the other ids of the
    few that have several.
    """

    ids: Mapping[tuple[str, str], str] = field(default_factory=dict)
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    listed: Mapping[str, str] = field(
        default_factory=dict
    )  # the id under which it is listed, by each of `also`

    def of(self, kind: str, name: str) -> str | None:
        """The id under which the entity of this type and name is listed."""
        return self.ids.get((kind, normalized(name)))

    def id_of(self, name: str) -> str:
        """The listed id of the entity that has this id. The id made from its type and name always
        means it.
        """
        if name in self.listed or not name.startswith(MADE):
            return self.listed.get(name, name)
        return next(
            (made_id for key, made_id in self.ids.items() if name == MADE + digest(*key)), name
        )

    def every(self, name: str) -> tuple[str, ...]:
        """All ids of the entity that is listed under this id."""
        return (name, *self.also.get(name, ()))
