"""Build the workers that the streams, the queues and the schedule start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

from palimpsest import settings
from palimpsest.clock import Clock
from palimpsest.context.blocks.reader import stores
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.listing import SessionLimit
from palimpsest.conversations.overflow.arm import OverflowJobs
from palimpsest.conversations.overflow.flush import FlushWindow, then_flush
from palimpsest.conversations.overflow.summarize import SummarizeOverflow
from palimpsest.conversations.ports import Blobs, Sessions, Summarizer
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.extraction.commit import Steps
from palimpsest.extraction.failures import GiveUpExtraction, RestartExtraction, RetryExtraction
from palimpsest.extraction.ports import Extractor
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.extraction.step import ExtractChunk
from palimpsest.graph.manage import GraphLimit
from palimpsest.graph.read import ReadGraph
from palimpsest.jobs.kinds import KINDS, Family, JobKind, Queue
from palimpsest.jobs.ports import Jobs, Queues
from palimpsest.jobs.shares import FairQueues
from palimpsest.jobs.steps import (
    GiveUpStep,
    Handling,
    Restart,
    RestartSteps,
    Router,
    UserSteps,
    Wait,
    Worker,
)
from palimpsest.memory.decisions import is_near
from palimpsest.memory.old_words import HideOldWords
from palimpsest.memory.ports import Expiries, Memories
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal.expire import Expire, Remind
from palimpsest.memory.removal.memories import ForgetPages
from palimpsest.memory.removal.messages import (
    ForgetMemoriesOfSession,
    RemoveFromSession,
    TakeBack,
    TakeBackRedacted,
)
from palimpsest.memory.removal.retention import SETTLING, RetainPages
from palimpsest.memory.removal.sessions import ForgetSessionPages
from palimpsest.memory.removal.sources import HideSources
from palimpsest.memory.removal.users import ErasePages
from palimpsest.models.ports import TokenCounter
from palimpsest.offline.extractor import PatternExtractor, states
from palimpsest.tenants.ports import Tenants
from palimpsest.transfer.export import ExportPages
from palimpsest.transfer.files import RemoveExports, forget_sent
from palimpsest.transfer.memories import RecordsKind, VectorsKind
from palimpsest.transfer.restore import ImportPages
from palimpsest.transfer.sessions import SessionsKind
from palimpsest.usage import Usages
from palimpsest.vectors.ports import VectorStore
from palimpsest.wiring.engines import (
    blob_store,
    expiry_store,
    memory_store,
    metered_model,
    model_key,
    session_store,
    share_store,
    system_clock,
    tenant_store,
    token_counter,
    usage_store,
    vector_store,
)
from palimpsest.workers.dispatch import Dispatch
from palimpsest.workers.sweep import Sweep


def wire_sweep(
    *,
    sessions: Sessions,
    jobs: Jobs,
    memories: Memories,
    expiries: Expiries,
    tenants: Tenants,
    blobs: Blobs,
    vectors: VectorStore,
    usages: Usages,
    tokens: TokenCounter,
    clock: Clock,
    queues: Queues | None = None,
    is_indexed: bool = True,
    settling: float = SETTLING,
) -> tuple[Router, Sweep]:
    """Build the worker of the sweep queue, and the scheduled sweep, which sends lost messages to
    `queues` again; changes of records only where there is an index. `settling` is how many seconds
    a changed retention waits for writes that are under way.
    """
    contents = Contents(blobs, jobs, clock)
    kinds = (
        SessionsKind(
            sessions,
            memories,
            jobs,
            contents,
            tenants,
            SessionLimit(sessions, clock),
            tokens,
            clock,
            HideOldWords(memories, clock, states),
        ).kind,
        RecordsKind(memories, expiries, tenants, clock).kind,
        VectorsKind(vectors, memories).kind,
    )
    restart, give_up = RestartSteps(jobs, clock), GiveUpStep(jobs, clock)
    told = queues if is_indexed else None
    pages = UserSteps(jobs, restart, clock, told)
    forget, named = (
        ForgetMemoriesOfSession(memories, clock),
        ForgetMemoriesOfSession(memories, clock, jobs, states),
    )
    exports = RemoveExports(blobs, clock)
    removal = Handling(
        RemoveFromSession(sessions, pages, clock, forget, contents, exports), give_up
    )
    redacted = TakeBackRedacted(sessions, jobs, pages, clock, named, contents, exports)
    sent = partial(forget_sent, blobs)
    hides = HideSources(sessions, memories, clock, states)
    remember = Remember(memories, tenants, clock)
    work = Router(
        {
            "delete": removal,
            "withdraw": removal,
            "redact": Handling(redacted, give_up),
            "take_back": Handling(TakeBack(pages, named, exports), give_up),
            "forget": Handling(
                ForgetPages(memories, expiries, pages, clock, remember, exports, hides, states),
                give_up,
            ),
            "forget_sessions": Handling(ForgetSessionPages(sessions, pages, clock), give_up),
            "erase": Handling(
                ErasePages(sessions, memories, usages, pages, clock, contents, sent, exports),
                give_up,
            ),
            "retain": Handling(
                RetainPages(tenants, sessions, memories, expiries, pages, clock, settling), give_up
            ),
            "upload": Handling(contents.settle, contents.give_up),
            "export": Handling(ExportPages(kinds, memories, blobs, pages, clock), give_up),
            "import": Handling(ImportPages(kinds, blobs, memories, pages, clock), give_up),
        }
    )
    steps = Steps(sessions, jobs, memories, clock, contents)
    parking = GiveUpExtraction(
        steps, PatternExtractor()
    )  # it needs only the extractor's chunk size
    extraction = RestartExtraction(steps, RetryExtraction(steps), parking)
    expire = Expire(memories, expiries, clock, Remind(expiries, clock, told))
    overflow = OverflowJobs(sessions, jobs, clock).restart
    restarts: dict[Family, Restart] = {
        "overflow": overflow,
        "steps": restart,
        "extraction": extraction,
        "upload": contents.abandon,
    }
    return work, Sweep(sessions, jobs, clock, restarts, expire, queues, usages)


def wire_summarize(
    *,
    sessions: Sessions,
    jobs: Jobs,
    summarizer: Summarizer,
    tokens: TokenCounter,
    clock: Clock,
    models: tuple[str, ...] | None = None,
) -> Handling:
    step = SummarizeOverflow(sessions, jobs, summarizer, tokens, clock, models)
    return Handling(step, OverflowJobs(sessions, jobs, clock).give_up)


@dataclass(frozen=True, slots=True)
class ExtractionWork:
    """The parts of extraction: its step, what fails a job for good, what retries it on request,
    what the sweep restarts. `queue` is the worker of the queue `extract`, which also does the
    flushes that wait for an extraction.
    """

    step: ExtractChunk
    give_up: GiveUpExtraction
    retry: RetryExtraction
    restart: RestartExtraction
    queue: Router


def wire_extraction(
    *,
    sessions: Sessions,
    jobs: Jobs,
    memories: Memories,
    tenants: Tenants,
    extractor: Extractor,
    clock: Clock,
    blobs: Blobs | None = None,
) -> ExtractionWork:
    """Build extraction over any adapters. Without `blobs` only stored messages are extracted."""
    steps = Steps(
        sessions, jobs, memories, clock, Contents(blobs, jobs, clock) if blobs is not None else None
    )
    retry = RetryExtraction(steps)
    give_up = GiveUpExtraction(steps, extractor)
    request = RequestExtraction(sessions, ExtractionSchedule(jobs), clock)
    remember = Remember(memories, tenants, clock, near=is_near)
    graphs = ReadGraph(memories, clock)
    step = ExtractChunk(
        steps, remember, extractor, request, retry, graphs, GraphLimit(memories), states
    )
    flush = FlushWindow(sessions, jobs, stores(memories), clock)
    queue = Router(
        {
            "extract": Handling(then_flush(step, flush), then_flush(give_up, flush)),
            "flush": Handling(flush, OverflowJobs(sessions, jobs, clock).give_up),
        }
    )
    return ExtractionWork(step, give_up, retry, RestartExtraction(steps, retry, give_up), queue)


def queue_urls(environment: settings.JobQueueSettings, *, without: str = "") -> dict[JobKind, str]:
    """The queue of each kind of job; `without` is that of kinds that have none in this stage."""
    urls: dict[Queue, str] = {
        "summarize": environment.summarize_queue_url,
        "extract": environment.extract_queue_url,
        "sweep": environment.sweep_queue_url,
        "reindex": environment.reindex_queue_url or without,
    }
    return {kind: urls[listed.queue] for kind, listed in KINDS.items()}


@cache
def dispatcher() -> Dispatch:
    environment = settings.DispatchSettings.read()
    from palimpsest.engines.aws import EventBridge, SqsQueues
    from palimpsest.engines.dynamodb.streams import stream_record

    parked = environment.parked_queue_url
    urls = queue_urls(environment, without=parked)
    changes, events = environment.embed_queue_url or parked, environment.events_queue_url
    queues = SqsQueues(urls, changes_url=changes, events_url=events, parked_url=parked)
    bus, indexes = EventBridge(environment.event_bus), bool(environment.embed_queue_url)
    usages = usage_store(environment.sessions_table)
    _, jobs = session_store(environment.sessions_table)
    return Dispatch(
        fair(queues, environment, jobs), read=stream_record, bus=bus, usages=usages, indexes=indexes
    )


@cache
def summarize_worker() -> Worker:
    environment = settings.SummarizeSettings.read()
    from palimpsest.conversations.overflow.model_summary import ModelSummarizer, Summaries
    from palimpsest.offline.summarizer import ExtractiveSummarizer

    tokens = token_counter()
    summarizer = Summaries(
        key=model_key(environment.openai_key_parameter),
        model=ModelSummarizer(metered_model(environment), tokens),
        offline=ExtractiveSummarizer(tokens),
    )
    sessions, jobs = session_store(environment.sessions_table)
    work = wire_summarize(
        sessions=sessions,
        jobs=jobs,
        summarizer=summarizer,
        tokens=tokens,
        clock=system_clock(),
        models=environment.models,
    )
    return _worker(work, "summarize", environment, url=environment.summarize_queue_url, jobs=jobs)


@cache
def extract_worker() -> Worker:
    environment = settings.ExtractSettings.read()
    from palimpsest.extraction.model import Extractors, ModelExtractor

    model = ModelExtractor(metered_model(environment), token_counter())
    key = model_key(environment.openai_key_parameter)
    sessions, jobs = session_store(environment.sessions_table)
    work = wire_extraction(
        sessions=sessions,
        jobs=jobs,
        memories=memory_store(environment.memories_table, environment.sessions_table),
        tenants=tenant_store(environment.tenants_table),
        extractor=Extractors(key=key, model=model, offline=PatternExtractor()),
        clock=system_clock(),
        blobs=blob_store(environment.contents_bucket),
    )
    return _worker(work.queue, "extract", environment, url=environment.extract_queue_url, jobs=jobs)


@cache
def remove_worker() -> Worker:
    work, sweep = _sweep()
    environment = settings.SweepSettings.read()
    return _worker(work, "sweep", environment, url=environment.sweep_queue_url, jobs=sweep.jobs)


@cache
def sweeper() -> Sweep:
    return _sweep()[1]


@cache
def _sweep() -> tuple[Router, Sweep]:
    environment = settings.SweepSettings.read()
    from palimpsest.engines.aws import SqsQueues
    from palimpsest.models.tiktoken_counter import TiktokenCounter

    sessions, jobs = session_store(environment.sessions_table)
    memories = memory_store(environment.memories_table, environment.sessions_table)
    queues = SqsQueues(queue_urls(environment), changes_url=environment.embed_queue_url)
    return wire_sweep(
        sessions=sessions,
        jobs=jobs,
        memories=memories,
        expiries=expiry_store(environment.memories_table),
        tenants=tenant_store(environment.tenants_table),
        blobs=blob_store(environment.contents_bucket),
        vectors=vector_store(environment.memories_table),
        usages=usage_store(environment.sessions_table),
        tokens=TiktokenCounter(),  # whose tables are read when an import first counts
        clock=system_clock(),
        queues=fair(queues, environment, jobs, heals=True),
        is_indexed=bool(environment.embed_queue_url),
    )


def _worker(
    work: Handling | Router,
    queue: Queue,
    environment: settings.SharedQueueSettings,
    *,
    url: str,
    jobs: Jobs,
) -> Worker:
    from palimpsest.engines.aws import SqsQueues, SqsVisibility

    own = SqsQueues({kind: url for kind, listed in KINDS.items() if listed.queue == queue})
    done = fair(own, environment, jobs).done
    return Worker(
        work.step, work.give_up, SqsVisibility(url).hide, Wait(jobs, system_clock()), done
    )


def fair(
    queues: Queues, environment: settings.SharedQueueSettings, jobs: Jobs, *, heals: bool = False
) -> FairQueues:
    """The queues in which no tenant has more jobs at once than its share."""
    shares = share_store(environment.sessions_table)
    return FairQueues(queues, shares, jobs, environment.tenant_jobs_at_once, system_clock(), heals)
