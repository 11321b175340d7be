"""The extraction of conversations: what works behind the queue `extract`, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.blocks.storing import stores
from palimpsest.domain.extraction_near import says_the_same
from palimpsest.domain.remembering import Near
from palimpsest.ports.clock import Clock
from palimpsest.ports.extractor import Extractor
from palimpsest.ports.memories import Memories
from palimpsest.ports.sessions import Jobs, Sessions
from palimpsest.ports.tenants import Tenants
from palimpsest.usecases.by_kind import ByKind
from palimpsest.usecases.extract import ExtractChunk
from palimpsest.usecases.extract_failed import GiveUpExtraction, MendExtraction, RetryExtraction
from palimpsest.usecases.extract_request import RequestExtraction
from palimpsest.usecases.extraction_steps import Steps
from palimpsest.usecases.flush import FlushWindow, then_flush
from palimpsest.usecases.long_term import LongTerm
from palimpsest.usecases.remember import Remember
from palimpsest.usecases.summarize import GiveUp


@dataclass(frozen=True, slots=True)
class ExtractionWork:
    """The step, what happens when it fails for the last time, how it is tried again, and what the sweep does; `queue`
    is what works behind the queue: the steps, and the flush of windows that waits for them.
    """

    step: ExtractChunk
    give_up: GiveUpExtraction
    retry: RetryExtraction
    mend: MendExtraction
    queue: ByKind


def wire_extraction(
    *,
    sessions: Sessions,
    jobs: Jobs,
    memories: Memories,
    tenants: Tenants,
    extractor: Extractor,
    clock: Clock,
    near: Near = says_the_same,
) -> ExtractionWork:
    """The extraction over any adapters. `near` says which statements of a topic say the same."""
    steps = Steps(sessions, jobs, memories, clock)
    retry = RetryExtraction(steps)
    give_up = GiveUpExtraction(steps, extractor)
    request = RequestExtraction(sessions, LongTerm(memories, jobs), clock)
    remember = Remember(memories, tenants, clock, near=near)
    step = ExtractChunk(steps, remember, extractor, request, retry)
    flush = FlushWindow(sessions, jobs, stores(memories), clock)
    queue = ByKind(
        {"extract": then_flush(step, flush), "flush": flush},
        {"extract": then_flush(give_up, flush), "flush": GiveUp(sessions, jobs, clock)},
    )
    return ExtractionWork(step, give_up, retry, MendExtraction(steps, retry, give_up), queue)
