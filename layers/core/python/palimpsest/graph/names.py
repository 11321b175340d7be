"""The ids of entities. This module makes an id from type and name, and finds the ids that belong to
the same entity.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.text.folding import normalized

MADE = "ent_"
"""The prefix of entities' ids that are made from a name."""


def entity_id(kind: str, name: str) -> str:
    """Return the id of an entity for which the caller gave none. It depends on type and name,
    without regard to upper and lower case.
    """
    return MADE + digest(kind, normalized(name))


def digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Names:
    """The ids of a user's entities. Entities of the same type and name are one entity, even if they
    were stored under different ids.

    `ids` maps a type and normalized name to the id under which the entity is listed. `also` has the
    other ids of the few entities that have several.
    """

    ids: Mapping[tuple[str, str], str] = field(default_factory=dict)
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # the id under which it is listed, by each of `also`
    listed: Mapping[str, str] = field(default_factory=dict)

    def of(self, kind: str, name: str) -> str | None:
        """Return the id under which the entity of this type and name is listed, or None."""
        return self.ids.get((kind, normalized(name)))

    def id_of(self, name: str) -> str:
        """Return the listed id of the entity that has the id `name`. The id that is made from an
        entity's type and name always belongs to it.
        """
        if name in self.listed or not name.startswith(MADE):
            return self.listed.get(name, name)
        return next(
            (made_id for key, made_id in self.ids.items() if name == MADE + digest(*key)), name
        )

    def every(self, name: str) -> tuple[str, ...]:
        """Return all ids of the entity that is listed under the id `name`."""
        return (name, *self.also.get(name, ()))
