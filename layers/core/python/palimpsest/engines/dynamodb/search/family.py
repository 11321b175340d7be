"""The generations of the search index in a pair of tables. One generation is read. Others may be
being filled, or were dropped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.engines.dynamodb.table import Table, key
from palimpsest.errors import CommitLost, NotFound
from palimpsest.models.ports import Space

PARTITION, SORT = "family", "indexes"
REMEMBERED_SECONDS = 5.0  # how long a reader relies on the last answer


@dataclass(frozen=True, slots=True)
class Generation:
    """One index of the family. The partition key of each item begins with the number of the
    generation, so that searches can change to a filled generation at once.
    """

    number: int
    space: Space | None
    is_read: bool

    @property
    def name(self) -> str:
        return (
            f"{self.space.model}-{self.space.dimension}.{self.number}"
            if self.space
            else f"words.{self.number}"
        )

    def partition(self, owner: str) -> str:
        return f"{self.number}#{owner}"


@dataclass(frozen=True, slots=True)
class KnownGenerations:
    """The stored description of all generations of an index. `dropped` has the numbers of dropped
    generations whose items may still exist.
    """

    version: int = 0
    last: int = 0
    generations: tuple[Generation, ...] = ()
    dropped: tuple[int, ...] = ()

    @property
    def read(self) -> Generation | None:
        return next((generation for generation in self.generations if generation.is_read), None)


class IndexGenerations:
    def __init__(self, table: Table, *, space: Space | None) -> None:
        self._table = table
        self._space = space
        self._seen: tuple[float, KnownGenerations] | None = None

    def known(self, *, again: bool = True) -> KnownGenerations:
        """Return the stored generations. With `again` false, the answer may be some seconds old."""
        if self._seen and not again and time.monotonic() - self._seen[0] < REMEMBERED_SECONDS:
            return self._seen[1]
        item = self._table.get(PARTITION, SORT)
        known = (
            KnownGenerations()
            if item is None
            else _known(int(item["version"]["N"]), json.loads(item["body"]["S"]))
        )
        self._seen = time.monotonic(), known
        return known

    def add(self, *, afresh: bool) -> None:
        """Add a generation of this space, unless there is one already. With `afresh`, add one
        unless a generation of the space is still being filled.
        """
        while True:
            known = self.known()
            if any(
                generation.space == self._space and not (afresh and generation.is_read)
                for generation in known.generations
            ):
                return
            new = Generation(known.last + 1, self._space, is_read=known.read is None)
            if self._replace(
                replace(known, last=new.number, generations=(*known.generations, new))
            ):
                return

    def read_newest(self) -> Sequence[int]:
        """Let searches read the newest generation of this space, and drop all others. Returns the
        numbers of all dropped generations whose items are not removed yet. Raises `NotFound` if
        this space has no generation.
        """
        while True:
            known = self.known()
            own = [
                generation for generation in known.generations if generation.space == self._space
            ]
            if not own:
                raise NotFound("There is no search index of this space.")
            newest = max(own, key=lambda generation: generation.number)
            dropped = (
                *known.dropped,
                *(generation.number for generation in known.generations if generation != newest),
            )
            after = replace(known, generations=(replace(newest, is_read=True),), dropped=dropped)
            if after == known or self._replace(after):
                return dropped

    def forget_dropped(self, numbers: Sequence[int]) -> None:
        while True:
            known = self.known()
            after = replace(
                known, dropped=tuple(number for number in known.dropped if number not in numbers)
            )
            if after == known or self._replace(after):
                return

    def _replace(self, known: KnownGenerations) -> bool:
        """Store the generations; return False if another process has stored others in the
        meantime.
        """
        body = {
            "last": known.last,
            "dropped": known.dropped,
            "generations": [
                [
                    generation.number,
                    generation.space and [generation.space.model, generation.space.dimension],
                    generation.is_read,
                ]
                for generation in known.generations
            ],
        }
        item = key(PARTITION, SORT) | {
            "version": {"N": str(known.version + 1)},
            "body": {"S": json.dumps(body)},
        }
        try:
            self._table.call(
                "PutItem", TableName=self._table.name, Item=item,
                ConditionExpression="attribute_not_exists(pk) OR version = :seen",
                ExpressionAttributeValues={":seen": {"N": str(known.version)}},
            )  # fmt: skip
        except CommitLost:
            return False
        return True


def _known(version: int, body: dict[str, Any]) -> KnownGenerations:
    generations = (
        Generation(number, Space(*space) if space else None, is_read)
        for number, space, is_read in body["generations"]
    )
    return KnownGenerations(version, body["last"], tuple(generations), tuple(body["dropped"]))
