"""Past interactions that resemble a message: what was said in any session of the user, as far as it still holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.context.recollection import Item
from palimpsest.recall.one_retriever import SearchMemories
from palimpsest.recall.request import Recollection
from palimpsest.scope import UserScope

RECORDS_BESIDE = 2  # times k are searched: records tell which messages say what holds no more


@dataclass(frozen=True, slots=True)
class FindResembling:
    """Implements `Resembling` by one search for meaning. A message that says an earlier value of something that is now
    otherwise is left out.
    """

    search: SearchMemories

    def __call__(self, owner: UserScope, text: str, *, k: int) -> Sequence[Item]:
        found = self.search(owner, text, mode="vector", k=k * RECORDS_BESIDE)
        return [_item(one) for one in found if one.record is None and one.outdated_by is None][:k]


def _item(one: Recollection) -> Item:
    return Item(
        id=one.id,
        kind="message",
        text=one.content,
        score=round(one.score, 4),
        said_at=one.valid_from,
        source=one.source,
        speaker=one.speaker,
    )
