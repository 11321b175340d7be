"""Keeps the model calls of jobs for some days, and lists them. A removal finds a user's calls by
`calls_of`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.ports import Blobs, Sessions
from palimpsest.errors import Unavailable
from palimpsest.jobs.job import Job
from palimpsest.models.recorded import ModelCall, recorded_by
from palimpsest.privacy.secrets import masked
from palimpsest.scope import Scope, UserScope
from palimpsest.tenants.ports import Tenants
from palimpsest.text.cutting import around

KEPT_DAYS = 7
KEPT_MILLISECONDS = KEPT_DAYS * 24 * 3_600_000
CUT = "\n[…]\n"
MOST_INSTRUCTIONS, MOST_TEXT, MOST_ANSWER = 8_000, 32_000, 16_000  # characters


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A model call of a job. `at` is when it ended (epoch milliseconds). Long texts lack their
    middle.
    """

    at: int
    instructions: str
    text: str
    answer: str | None
    error: str | None
    model: str | None
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class KeepCalls:
    """Keeps the model calls of jobs whose tenants want that. `removed_lately` returns whether data
    of the user was removed in the last minutes.
    """

    blobs: Blobs
    tenants: Tenants
    clock: Clock
    removed_lately: Callable[[UserScope], bool]

    def __call__(self, job: Job, user: UserScope) -> AbstractContextManager[None]:
        """Keep the model calls of this block as calls of the job. If the store fails, the block
        continues.
        """
        return recorded_by(partial(self._keep, job, user))

    def _keep(self, job: Job, user: UserScope, call: ModelCall) -> None:
        with suppress(Unavailable):
            if not self.tenants.settings(user.owner).keep_model_calls:
                return
            made = _kept(call, at=milliseconds(self.clock.now()))
            key, data = _key(user, job, made), json.dumps(asdict(made)).encode()
            self.blobs.put(key, data)
            # The prompt may hold removed data. A removal writes its note before it lists the calls.
            # So either the removal sees this call, or this code sees the note.
            if self.removed_lately(user):
                self.blobs.remove([key])


@dataclass(frozen=True, slots=True)
class ListCalls:
    """Lists the kept model calls of a job."""

    blobs: Blobs
    sessions: Sessions
    tenants: Tenants
    clock: Clock

    def are_kept(self, scope: Scope) -> bool:
        """Return whether the tenant's model calls are kept."""
        return self.tenants.settings(scope).keep_model_calls

    def __call__(
        self, job: Job, *, limit: int, after: str | None = None
    ) -> tuple[tuple[KeptCall, ...], str | None]:
        """Return at most `limit` model calls of the job and of its steps, oldest first, and the
        place after which the next page begins (None on the last page). There are none while the
        tenant's calls are not kept, and none of a session that is gone. Raises `Unavailable`.
        """
        now, scope = self.clock.now(), Scope(job.tenant)
        head = self.sessions.open(scope.session(job.session)).head if job.session else None
        if head is None or head.is_gone(seconds(now)) or not self.are_kept(scope):
            return (), None
        prefix = _of_job(scope.user(head.user), job)
        oldest = f"{milliseconds(now) - KEPT_MILLISECONDS:015d}"
        keys = list(islice(self.blobs.keys(prefix, first=max(after or "", oldest)), limit + 1))
        stored = [data for key in keys[:limit] if (data := self.blobs.get(key)) is not None]
        more = keys[limit - 1].removeprefix(prefix) if len(keys) > limit else None
        return tuple(KeptCall(**json.loads(data)) for data in stored), more


def calls_of(user: UserScope) -> str:
    """Return the prefix of the keys of all kept model calls of a user."""
    return f"calls/{user.tenant}/{user.user}/"


def _of_job(user: UserScope, job: Job) -> str:
    return f"{calls_of(user)}{job.root}/"


def _key(user: UserScope, job: Job, call: KeptCall) -> str:
    digest = hashlib.sha256(json.dumps(asdict(call)).encode()).hexdigest()[:16]
    return f"{_of_job(user, job)}{call.at:015d}-{digest}"


def _kept(call: ModelCall, *, at: int) -> KeptCall:
    return KeptCall(
        at=at,
        instructions=_shown(call.instructions, most=MOST_INSTRUCTIONS),
        text=_shown(call.text, most=MOST_TEXT),
        answer=None if call.answer is None else _shown(call.answer, most=MOST_ANSWER),
        error=call.error,
        model=call.model,
        tokens_in=call.tokens_in,
        tokens_out=call.tokens_out,
    )


def _shown(text: str, *, most: int) -> str:
    """Return the text without secrets, and without its middle if it is longer than `most`."""
    safe = masked(text)
    return safe if len(safe) <= most else around(safe, size=most, mark=CUT)
