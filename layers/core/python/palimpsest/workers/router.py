"""A worker for several kinds of jobs: each notice goes to what handles its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from palimpsest.jobs.kinds import JobKind
from palimpsest.jobs.ports import JobNotice

Step = Callable[[JobNotice], None]


class GivesUp(Protocol):
    def __call__(self, notice: JobNotice, *, error: str) -> None:
        """Mark the job failed with that code."""


@dataclass(frozen=True, slots=True)
class Handling:
    """What one kind of job needs: its step, and what happens when the step has failed for the last time."""

    step: Step
    give_up: GivesUp


@dataclass(frozen=True, slots=True)
class Router:
    """Both calls raise `KeyError` for a kind that is not handled here: the message reaches the dead-letter queue."""

    handlings: Mapping[JobKind, Handling]

    def step(self, notice: JobNotice) -> None:
        self.handlings[notice.kind].step(notice)

    def give_up(self, notice: JobNotice, *, error: str) -> None:
        self.handlings[notice.kind].give_up(notice, error=error)
