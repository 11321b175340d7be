"""Reviews. Feedback opens them if a memory is wrong or missing, and an operator or the user closes
them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from typing import Literal

from palimpsest.conversations.ports import Blobs
from palimpsest.errors import NotFound
from palimpsest.memory.ports import Memories
from palimpsest.memory.record import Record
from palimpsest.scope import Scope, UserScope

ReviewKind = Literal["wrong", "missing"]


@dataclass(frozen=True, slots=True)
class Review:
    """A review of a memory that was wrong, or of a memory that was missing. `said_at` is in epoch
    milliseconds.
    """

    id: str
    user: str
    kind: ReviewKind
    recall: str
    said_at: int
    memory: str | None = None
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class OpenReview:
    """A review with its memory, as it is now. The memory is None if one was missing."""

    review: Review
    record: Record | None


@dataclass(frozen=True, slots=True)
class Reviews:
    """The open reviews. Each is a small object in the store of large contents, under its user's
    epoch, so that an erasure removes it.
    """

    blobs: Blobs
    memories: Memories

    def open(self, scope: UserScope, reviews: Sequence[Review], *, epoch: int) -> None:
        """Open reviews. Safe to repeat: a review with the same id is the same one. If the user is
        erased meanwhile, nothing stays. Raises `Unavailable`.
        """
        keys = {_key(scope, epoch, review.id): review for review in reviews}
        for key, review in keys.items():
            self.blobs.put(key, json.dumps(asdict(review)).encode())
        if keys and self.memories.user(scope).epoch != epoch:
            self.blobs.remove(list(keys))

    def listed(
        self, scope: Scope, *, user: str | None = None, limit: int, after: str | None = None
    ) -> tuple[tuple[OpenReview, ...], str | None]:
        """Return at most `limit` open reviews of a user, or of all users, by user and id. Also
        return the place after which the next page begins (None on the last page). Reviews of
        memories that are gone are left out. Raises `Unavailable`.
        """
        prefix = _of_tenant(scope) if user is None else _of_user(scope.user(user))
        keys = list(islice(self.blobs.keys(prefix, first=after or ""), limit + 1))
        page = keys[:limit]
        reviews = [
            review
            for name, of_user in groupby(page, key=lambda key: _user_of(scope, key))
            for review in self._with_records(scope.user(name), list(of_user))
        ]
        more = page[-1].removeprefix(prefix) if len(keys) > limit else None
        return tuple(reviews), more

    def close(self, scope: UserScope, review_id: str) -> None:
        """Close a review. Raises `NotFound` (`review_not_found`) and `Unavailable`."""
        key = _key(scope, self.memories.user(scope).epoch, review_id)
        if self.blobs.get(key) is None:
            raise NotFound("There is no such open review.", code="review_not_found")
        self.blobs.remove([key])

    def _with_records(self, scope: UserScope, keys: Sequence[str]) -> list[OpenReview]:
        epoch = self.memories.user(scope).epoch
        present = [key for key in keys if key.startswith(_of_epoch(scope, epoch))]
        reviews = [review for key in present if (review := self._read(key)) is not None]
        ids = [review.memory for review in reviews if review.memory is not None]
        records: Mapping[str, Record] = {
            record.id: record for record in self.memories.records(scope, ids)
        }
        return [
            OpenReview(review, records.get(review.memory or ""))
            for review in reviews
            if review.memory is None or review.memory in records
        ]

    def _read(self, key: str) -> Review | None:
        data = self.blobs.get(key)
        return None if data is None else Review(**json.loads(data))


def forget_reviews(blobs: Blobs, scope: UserScope, epoch: int) -> None:
    """Remove the reviews of a user from before this epoch. Raises `Unavailable`."""
    prefix = _of_user(scope)
    keys = [key for key in blobs.keys(prefix) if _epoch_of(key, prefix) < epoch]
    if keys:
        blobs.remove(keys)


def review_id(recall: str, about: str) -> str:
    """Return the id of a review of one recall. `about` is the memory's id or the missing text."""
    return "rev_" + hashlib.sha256(f"{recall}\x1f{about}".encode()).hexdigest()[:32]


def _of_tenant(scope: Scope) -> str:
    return f"reviews/{scope.tenant}/"


def _of_user(scope: UserScope) -> str:
    return f"{_of_tenant(scope.owner)}{scope.user}/"


def _of_epoch(scope: UserScope, epoch: int) -> str:
    return f"{_of_user(scope)}{epoch:09d}/"


def _key(scope: UserScope, epoch: int, name: str) -> str:
    return _of_epoch(scope, epoch) + name


def _user_of(scope: Scope, key: str) -> str:
    return key.removeprefix(_of_tenant(scope)).partition("/")[0]


def _epoch_of(key: str, prefix: str) -> int:
    return int(key.removeprefix(prefix).partition("/")[0])
