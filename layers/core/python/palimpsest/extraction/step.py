"""One step of the extract worker. It reads the next chunk, calls the model once, checks the
findings, and commits once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice

from palimpsest import tracing
from palimpsest.clock import milliseconds, seconds
from palimpsest.conversations.configuration import own_retention
from palimpsest.conversations.spoken import said_at
from palimpsest.errors import Conflict
from palimpsest.extraction.checks import ConversationOwner, checked, most_important, statement_of
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.commit import (
    Looked,
    Steps,
    extraction_prompt,
    extraction_seconds,
    session_of,
)
from palimpsest.extraction.failures import RetryExtraction
from palimpsest.extraction.finding import Finding, fitting
from palimpsest.extraction.jobs import Turn, user_of
from palimpsest.extraction.ports import NOTHING_STATED, Extraction, Extractor
from palimpsest.extraction.reconciling.reconcile import reconciled
from palimpsest.extraction.resting import dependent_of
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.extraction.signed import names_on, signed_before
from palimpsest.extraction.testimony.reading import Withheld
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.graph.drawn import Drawn, drawn_from
from palimpsest.graph.manage import GraphLimit
from palimpsest.graph.read import ReadGraph
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import KeepsCalls
from palimpsest.jobs.steps import counting, no_calls_kept
from palimpsest.memory.burials import Buried, States, states_nothing
from palimpsest.memory.ended import EndOfTopic
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.manage import ManageMemories
from palimpsest.memory.names import is_name
from palimpsest.memory.ports import WITHHELD, ChunkLine, MemoryCommit
from palimpsest.memory.record import GRAPH, Record, Source
from palimpsest.memory.remember import Prepared, Remember
from palimpsest.memory.resting import grounds_of
from palimpsest.memory.statements import Statement
from palimpsest.memory.user_names import names_of
from palimpsest.models import deadline
from palimpsest.models.catalogue import priced
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, UserScope, paid_by

MOST_RELATIONS = 5  # of one chunk's findings
MOST_FINDINGS = 25
"""The most findings of one chunk. If they are still too many for the transaction, the chunk ends
earlier.
"""
MOST_KNOWN = 500  # newest records that an end or a correction may refer to
ITEMS_EACH = 4  # most items: record, place in its topic, pointer, and the record that it displaces
ITEMS_OF_STEP = 4  # line, progress, next job, ended job


@dataclass(frozen=True, slots=True)
class _StepFindings:
    """The result of a step: its messages, its extraction, the checked findings, and counts of the
    dropped ones. `redactions` is the session's number of redactions when the messages were read,
    and `names` are the names of the user that were known then.
    """

    turn: Turn
    chunk: Chunk
    extraction: Extraction
    findings: tuple[Finding, ...]
    dropped: Mapping[str, int]
    redactions: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractChunk:
    steps: Steps
    remember: Remember
    extractor: Extractor
    request: RequestExtraction
    retry: RetryExtraction
    graph: ReadGraph
    limit: GraphLimit
    states: States = states_nothing
    keeps_calls: KeepsCalls = no_calls_kept

    def __call__(self, notice: JobNotice) -> None:
        """Do the step of the job that the notice names. It is safe to repeat: a job that has ended,
        whose step is done, or whose turn has not come costs no model call.

        Raises `ModelFailed` (to be tried again later), `LimitReached` before a model is called, and
        `Unavailable`.
        """
        job = self.steps.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None:
            return
        if job.state == "failed":  # a redrive: its parked messages are tried again
            self.retry(job)
            return
        if job.state != "done" and not self._step(job):
            self(notice)  # its turn came in the meantime
            return
        if job.state == "done":
            # delivered again: the first delivery may have ended right after its commit
            self.steps.forget_passed(job)
        self.request.arm_next(session_of(job))

    def _step(self, job: Job) -> bool:
        at = self.steps.look(job)
        if at.turn.standing != "now":
            is_over = until_committed(lambda: self._pass_by(job), clock=self.steps.clock)
        else:
            self.steps.jobs.start(job.begun(now=seconds(self.steps.clock.now())))
            # If there is no room for memories, do not pay for a call of the model.
            self.remember.check_room(user_of(job))
            findings = replace(self._found(job, at), redactions=_redactions(at))
            is_over = until_committed(lambda: self._commit(job, findings), clock=self.steps.clock)
        if is_over and at.head is not None and at.head.outside:
            self.steps.forget_passed(job)
        return is_over

    def _pass_by(self, job: Job) -> bool:
        at = self.steps.look(job)
        if at.turn.standing == "now":
            return False
        self.steps.skip_job(job, at)
        return True

    def _found(self, job: Job, at: Looked) -> _StepFindings:
        prompt = extraction_prompt(at.settings)
        chunk = self.steps.chunk(job, at, room=self.extractor.capacity(prompt=prompt))
        if not chunk.messages:
            return _StepFindings(at.turn, chunk, Extraction((), chunk.last, "pattern"), (), {})
        limited = deadline.limited(extraction_seconds(at.settings))
        user = user_of(job)
        kept = self.keeps_calls(job, user)
        with counting(self.steps.jobs, job), paid_by(user), limited, kept:
            extraction = self.extractor.extract(chunk, prompt=prompt, whole=at.turn.is_parked)
        owner = replace(_owner(job), names=self._names(job, chunk))
        findings = _checked_findings(at.turn, chunk, extraction, owner=owner, most=MOST_FINDINGS)
        return replace(findings, names=owner.names)

    def _names(self, job: Job, chunk: Chunk) -> tuple[str, ...]:
        """Return the known names of the user. If there are none, the user's earlier messages may
        have one.
        """
        user, names = user_of(job), names_on(chunk.messages)
        known = names_of(self.remember.memories, user).all
        if known or not names or is_name(user.user):
            return known
        sessions = self.steps.sessions
        return signed_before(names, self._current(job), sessions=sessions, scope=user)

    def _commit(self, job: Job, findings: _StepFindings) -> bool:
        """Commit if it is still this job's turn. If another delivery was faster, discard the work.
        Return False if a message was redacted since the messages were read, because the step must
        then be done again.
        """
        at = self.steps.look(job)
        if at.turn != findings.turn or _redactions(at) != findings.redactions:
            # The model was paid, although its findings are discarded.
            if spent := priced(findings.extraction.model, **asdict(findings.extraction.usage)):
                self.steps.jobs.spend(job, spent)
            if at.turn == findings.turn:
                return False
            self.steps.skip_job(job, at)
            return True
        prepared, findings = self._prepared(job, at, findings)
        # Before the end of the step, so that a step which is interrupted marks them again.
        self.steps.mark_material(job, at, findings.chunk)
        line = _line(job.session, findings, prepared)
        with tracing.memory("upsert_memory", tenant=job.tenant) as span:
            tracing.counted(span, len(findings.findings))
            self.steps.commit(job, self.steps.advanced(prepared.commit, job, at, line=line))
        return True

    def _prepared(
        self, job: Job, at: Looked, findings: _StepFindings, *, relations: int = MOST_RELATIONS
    ) -> tuple[Prepared, _StepFindings]:
        """Return the changes that store the findings, and these findings. If they are too many for
        one transaction, relations are left out first, then findings.
        """
        findings = self._without_buried(job, self._of_their_subjects(findings))
        stated = _statements(job, at, findings)
        kept = reconciled(
            findings.findings, stated, findings.chunk, known=partial(self._known, job)
        )
        named = replace(findings, findings=kept.findings)
        resting = self._resting(user_of(job), kept.findings, kept.statements)
        statements, of_graph = self._with_graph(job, named, resting, most=relations)
        prepared, forgotten = self._prepared_without_removed(
            user_of(job), [*statements, *of_graph], ends=kept.ends
        )
        try:
            prepared = replace(prepared, commit=self.limit.guarded(user_of(job), prepared.commit))
        # the graph is full, so memories are stored without relations that have no room there
        except Conflict:
            return self._prepared(job, at, findings, relations=relations // 2)
        excess = ITEMS_OF_STEP - self.remember.memories.room(prepared.commit)
        if excess > 0 and of_graph:
            return self._prepared(job, at, findings, relations=relations // 2)
        if excess > 0:
            # The chunk ends earlier, and the next step has the rest of its messages.
            # Dividing the negative number rounds away from zero, so enough findings leave.
            fewer = len(findings.findings) + -excess // ITEMS_EACH
            owner = replace(_owner(job), names=findings.names)
            less = _checked_findings(
                findings.turn, findings.chunk, findings.extraction, owner=owner, most=fewer
            )
            less = replace(less, names=findings.names, redactions=findings.redactions)
            return self._prepared(job, at, less)
        dropped = {**findings.dropped, "removed": forgotten} if forgotten else findings.dropped
        return prepared, replace(findings, dropped=dropped)

    def _known(self, job: Job) -> Sequence[Record]:
        """Return the user's newest current records, at most `MOST_KNOWN`."""
        return list(islice(self._current(job), MOST_KNOWN))

    def _current(self, job: Job) -> Iterator[Record]:
        remember = self.remember
        manage = ManageMemories(remember.memories, remember.tenants, remember.clock)
        return manage.every(user_of(job), MemoryFilter())

    def _of_their_subjects(self, findings: _StepFindings) -> _StepFindings:
        """Return the findings. If a model attributes a finding to the user, but the words name
        another person, the finding becomes one about that person.
        """
        if findings.extraction.method != "model":
            return findings
        return replace(findings, findings=tuple(map(self._of_its_subject, findings.findings)))

    def _of_its_subject(self, finding: Finding) -> Finding:
        if finding.subject not in (None, USER):
            return finding
        statements = self.states(finding.content)
        others = {stated.subject for stated in statements} - {None, USER}
        if len(others) != 1 or any(stated.subject in (None, USER) for stated in statements):
            return finding
        topics = [stated.topic for stated in statements if stated.topic]
        return replace(finding, subject=others.pop(), topic=topics[0] if topics else None)

    def _without_buried(self, job: Job, findings: _StepFindings) -> _StepFindings:
        """Return the findings without two kinds: statements of memories that the user has deleted
        since these statements were made, and earlier values of the topics of such memories.
        """
        if not findings.findings:
            return findings
        scope = user_of(job)
        buried = Buried(scope, self.remember.memories.burials(scope), self.states)
        if not buried:
            return findings
        times = {m.seq: milliseconds(said_at(m)) for m in findings.chunk.messages}
        users = {m.seq for m in findings.chunk.messages if m.role == USER}

        def is_buried(finding: Finding) -> bool:
            content, at = finding.content, max(times[seq] for seq in finding.seqs)
            about = {"topic": finding.topic, "subject": finding.subject}
            # Only the user can state again what was deleted. An answer repeats it.
            if users.isdisjoint(finding.seqs) and buried.echoes(content):
                return True
            is_said = buried.holds(content, quote=finding.quote, at=at, **about)
            return is_said or buried.is_outdated(content, at=at, **about)

        left = tuple(finding for finding in findings.findings if not is_buried(finding))
        gone = len(findings.findings) - len(left)
        return (
            replace(findings, findings=left, dropped={**findings.dropped, "deleted": gone})
            if gone
            else findings
        )

    def _resting(
        self, scope: UserScope, findings: Sequence[Finding], statements: Sequence[Statement]
    ) -> Sequence[Statement]:
        """Return the statements, each with the records on which it rests."""
        dependents = list(map(dependent_of, findings))
        if not any(dependent.topics for dependent in dependents):
            return statements
        made = [decision.record for decision in self.remember.decided(scope, statements)]
        grounds = grounds_of(self.remember.memories, scope, dependents, made)
        return [
            replace(statement, rests_on=rests_on)
            for statement, rests_on in zip(statements, grounds, strict=True)
        ]

    def _with_graph(
        self, job: Job, findings: _StepFindings, statements: Sequence[Statement], *, most: int
    ) -> tuple[Sequence[Statement], Sequence[Statement]]:
        """Return the statements, each with the relationships that were found in it. The findings'
        statements about people and things get the same sources.
        """
        numbered = enumerate(findings.findings)
        relations = [
            (number, relation) for number, finding in numbered for relation in finding.relations
        ][:most]
        if not relations:
            return statements, ()
        scope = user_of(job)
        pairs = [(statements[number], relation) for number, relation in relations]
        drawn = drawn_from(pairs, self.graph(scope), user=scope.user)
        return _drawing(statements, drawn, [number for number, _ in relations]), drawn.statements

    def _prepared_without_removed(
        self, scope: UserScope, statements: Sequence[Statement], *, ends: Sequence[EndOfTopic] = ()
    ) -> tuple[Prepared, int]:
        """Return the changes that store the statements, except statements that the user removed.
        Also return how many were removed.
        """
        if not statements and not ends:
            # `Steps.advanced` puts the job's epoch into the commit.
            return Prepared((), MemoryCommit(epoch=0)), 0
        prepared = self.remember.prepared(scope, statements, ends=ends)
        new = [decision.record.id for decision in prepared.made if decision.outcome != "unchanged"]
        removed = self.remember.memories.tombstones(scope, new) if new else {}
        left = [
            statement
            for statement, decision in zip(statements, prepared.made, strict=True)
            if decision.record.id not in removed
            or not _is_from(statement.source, removed[decision.record.id].sources)
        ]
        if len(left) == len(statements):
            return prepared, 0
        less = self._prepared_without_removed(scope, left, ends=ends)[0]
        return less, len(statements) - len(left)


def _redactions(at: Looked) -> int:
    return at.head.redactions if at.head else 0


def _owner(job: Job) -> ConversationOwner:
    return ConversationOwner(tenant=job.tenant, user=job.user or "", session=job.session)


def _checked_findings(
    turn: Turn, chunk: Chunk, extraction: Extraction, *, owner: ConversationOwner, most: int
) -> _StepFindings:
    """Return the checked findings of an extraction, at most `most`. If there are more, the chunk
    ends earlier. A parked chunk is never divided, so only its most important findings are kept.
    """
    # Every step covers at least one message to read, or the job would never end.
    reach = chunk.until(min(chunk.last, max(chunk.messages[0].seq, extraction.through)))
    kept = checked(extraction.findings, reach, owner=owner)
    end = reach.last if turn.is_parked else fitting(kept.findings, most=most, last=reach.last)
    if end < reach.last:
        reach = reach.until(end)
        # The ledger's line counts only what was dropped within the shorter chunk.
        within = [finding for finding in extraction.findings if max(finding.seqs) <= end]
        kept = checked(within, reach, owner=owner)
    findings = most_important(kept.findings, most=most)
    dropped = Counter(extraction.dropped) + Counter(kept.dropped)
    dropped["over_limit"] += len(kept.findings) - len(findings)
    return _StepFindings(turn, reach, extraction, findings, dict(+dropped))


def _statements(job: Job, at: Looked, findings: _StepFindings) -> list[Statement]:
    messages = {message.seq: message for message in findings.chunk.messages}
    own = own_retention(at.settings.memory) if at.settings else {}
    return [
        statement_of(
            finding,
            messages,
            session=job.session,
            agent=at.head.agent if at.head else None,
            method=findings.extraction.method,
            prompt_hash=findings.extraction.prompt_hash,
            retention=own.get(finding.type),
        )
        for finding in findings.findings
    ]


def _drawing(
    statements: Sequence[Statement], drawn: Drawn, numbers: Sequence[int]
) -> Sequence[Statement]:
    """Return the statements, each with the topics of entities and relations that were drawn from
    it. `numbers` has the number of the statement for each topic.
    """
    topics: dict[int, list[str]] = defaultdict(list)
    for number, topic in zip(numbers, drawn.topics, strict=True):
        topics[number].append(topic)
    return [
        replace(statement, draws=tuple(topics[number]))
        for number, statement in enumerate(statements)
    ]


def _is_from(source: Source, removed: Sequence[Source]) -> bool:
    """Return whether a statement comes from a message from which a removed record came."""
    return any(
        source.session == other.session and set(source.seqs) & set(other.seqs) for other in removed
    )


def _why_nothing(reason: str, others: Withheld) -> str:
    """Return why a message gave nothing. If a part of it is withheld, the class of that part is the
    reason, because the speaker's own words are then often a request about that part.
    """
    return others[0][0] if others and reason == NOTHING_STATED else reason


def _line(session: str, findings: _StepFindings, prepared: Prepared) -> ChunkLine:
    chunk = findings.chunk
    nothing = {
        m.seq: _why_nothing(findings.extraction.skipped[m.seq], chunk.withheld.get(m.seq, ()))
        for m in chunk.messages
        if m.seq in findings.extraction.skipped
    }
    within = (seq for seq in chunk.reasons if chunk.first <= seq <= chunk.last)
    parts = Counter(f"{WITHHELD}{why}" for seq in within for why in chunk.reasons[seq])
    return ChunkLine(
        session=session,
        first=chunk.first,
        last=chunk.last,
        extracted=len(chunk.messages) - len(nothing),
        skipped=dict(Counter([*chunk.skipped.values(), *nothing.values()])),
        dropped={**findings.dropped, **parts},
        records=tuple(
            dict.fromkeys(
                decision.record.id
                for decision in prepared.made
                if decision.record.type not in GRAPH
            )
        ),
        usage=priced(findings.extraction.model, **asdict(findings.extraction.usage)),
    )
