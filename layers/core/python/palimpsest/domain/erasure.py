"""What an erasure has reached in each store, as its job tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from palimpsest.domain.jobs import RETENTION_SECONDS, Job

BACKUP_DAYS = 35
"""How far back a table can be restored (DynamoDB's point-in-time recovery): what was erased is in no backup after."""

Stage = Literal["sessions", "memories", "late_sessions", "over"]
_NEXT: dict[Stage, Stage] = {"sessions": "memories", "memories": "late_sessions", "late_sessions": "over"}


@dataclass(frozen=True, slots=True)
class Erased:
    """How far a job has come: the store it is in, where it goes on there, and what went so far.

    Sessions are looked for twice: their list follows the table a moment later.
    """

    stage: Stage = "sessions"
    after: str | None = None
    sessions: int = 0
    memories: int = 0

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Self:
        names = ("stage", "after", "sessions", "memories")
        return cls(**{name: told[name] for name in names if name in told})

    def told(self) -> dict[str, Any]:
        return {"stage": self.stage, "after": self.after, "sessions": self.sessions, "memories": self.memories}

    def moved_on(self) -> Self:
        """The next store, from its beginning."""
        return replace(self, stage=_NEXT[self.stage], after=None)

    @property
    def result(self) -> dict[str, int]:
        """A store is named as soon as it is reached."""
        reached = {"sessions": self.sessions}
        return reached if self.stage == "sessions" else {**reached, "memories": self.memories}


def receipt(job: Job) -> dict[str, dict[str, Any]]:
    """What is gone and what is still to go, store by store. `until` is in epoch seconds.

    The index follows the tables by their streams, and answers nothing that they do not have. Jobs hold ids and counts.
    """
    has_sessions, has_all = "memories" in job.result or job.state == "done", job.state == "done"
    return {
        "sessions": {"state": _state(is_done=has_sessions), "count": job.result.get("sessions", 0)},
        "memories": {"state": _state(is_done=has_all), "count": job.result.get("memories", 0)},
        "index": {"state": "follows"},
        "jobs": {"state": "expires", "until": job.created_at + RETENTION_SECONDS},
        "backups": {"state": "expires", "until": job.created_at + BACKUP_DAYS * 24 * 3600},
    }


def _state(*, is_done: bool) -> str:
    return "done" if is_done else "pending"
