"""A worker for several kinds of jobs: each notice goes to whoever does its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from palimpsest.jobs.job import JobKind
from palimpsest.jobs.ports import JobNotice

Step = Callable[[JobNotice], None]


class GivesUp(Protocol):
    def __call__(self, notice: JobNotice, *, error: str) -> None:
        """Mark the job failed."""


@dataclass(frozen=True, slots=True)
class ByKind:
    """Both raise `KeyError` for a kind that is not done here: the message reaches the dead letters."""

    steps: Mapping[JobKind, Step]
    ends: Mapping[JobKind, GivesUp]

    def step(self, notice: JobNotice) -> None:
        self.steps[notice.kind](notice)

    def give_up(self, notice: JobNotice, *, error: str) -> None:
        self.ends[notice.kind](notice, error=error)
