"""The use case that takes feedback on a recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

from palimpsest.clock import Clock, day_of, milliseconds
from palimpsest.errors import Unavailable
from palimpsest.feedback.reviews import Review, Reviews, review_id
from palimpsest.memory.opinions import with_opinion
from palimpsest.memory.ports import Memories, MemoryCommit
from palimpsest.privacy.secrets import masked
from palimpsest.retry import until_committed
from palimpsest.scope import UserScope
from palimpsest.usage import Usages

AT_ONCE = 25  # records in one transaction
COUNT = {True: "feedback_useful", False: "feedback_wrong"}
"""The names under which useful and wrong memories are counted."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """The result of feedback. `counted` are the memories that it rated, `ignored` the ids that are
    no memory of the user, and `reviews` the reviews that are open because of it.
    """

    counted: tuple[str, ...]
    ignored: tuple[str, ...]
    reviews: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GiveFeedback:
    memories: Memories
    reviews: Reviews
    usages: Usages
    clock: Clock

    def __call__(
        self,
        scope: UserScope,
        recall: str,
        *,
        useful: Sequence[str] = (),
        wrong: Sequence[str] = (),
        missing: str | None = None,
    ) -> Feedback:
        """Rate the memories of a recall (at most 100). A memory that is rated wrong opens a review,
        and so does a text about a missing memory. A later opinion on the same recall replaces an
        earlier one, so the call is safe to repeat. The opinions move the rank of a memory a little
        and hide none.

        Raises `Unavailable`. The usage is counted if its store answers.
        """
        epoch = self.memories.user(scope).epoch
        opinions = {**dict.fromkeys(useful, True), **dict.fromkeys(wrong, False)}
        rated: list[str] = []
        new = Counter[str]()
        for start in range(0, len(opinions), AT_ONCE):
            part = dict(islice(opinions.items(), start, start + AT_ONCE))
            rate = partial(self._rate, scope, recall, part)
            known, changed = until_committed(rate, clock=self.clock)
            rated += known
            new += changed
        opened = self._opened(
            scope, recall, [memory for memory in wrong if memory in rated], missing
        )
        self.reviews.open(scope, opened, epoch=epoch)
        new["feedback_missing"] = int(missing is not None)
        self._count(scope, new)
        return Feedback(
            counted=tuple(rated),
            ignored=tuple(opinion for opinion in opinions if opinion not in set(rated)),
            reviews=tuple(review.id for review in opened),
        )

    def _rate(
        self, scope: UserScope, recall: str, opinions: Mapping[str, bool]
    ) -> tuple[list[str], Counter[str]]:
        """Store opinions. Return the ids of the rated records, and how many opinions are new."""
        epoch = self.memories.user(scope).epoch
        records = self.memories.records(scope, list(opinions))
        changed = [
            after
            for record in records
            if (after := with_opinion(record, recall=recall, is_useful=opinions[record.id]))
            != record
        ]
        if changed:
            self.memories.commit(scope, MemoryCommit(epoch=epoch, changed=tuple(changed)))
        new = Counter(COUNT[opinions[record.id]] for record in changed)
        return [record.id for record in records], new

    def _opened(
        self, scope: UserScope, recall: str, wrong: Sequence[str], missing: str | None
    ) -> list[Review]:
        at = milliseconds(self.clock.now())
        opened = [
            Review(review_id(recall, memory), scope.user, "wrong", recall, at, memory=memory)
            for memory in dict.fromkeys(wrong)
        ]
        if missing is not None:
            text = masked(missing)
            name = review_id(recall, text)
            opened.append(Review(name, scope.user, "missing", recall, at, missing=text))
        return opened

    def _count(self, scope: UserScope, new: Counter[str]) -> None:
        """Count new opinions. Opinions that were given before are not counted again."""
        if new.total():
            with suppress(Unavailable):
                day = day_of(milliseconds(self.clock.now()))
                self.usages.add(scope, day=day, used=+new)
