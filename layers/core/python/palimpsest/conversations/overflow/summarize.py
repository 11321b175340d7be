"""The worker of summarize jobs. One step reads the messages of a job, calls the model, and commits.
The next job handles the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from palimpsest.clock import Clock, stamp
from palimpsest.conversations.configuration import Summarize, parsed
from palimpsest.conversations.lifecycle import folded
from palimpsest.conversations.message import UNSHOWN_ROLES, Chat, Message
from palimpsest.conversations.overflow.arm import OverflowJobs, summarizing
from palimpsest.conversations.overflow.eviction import step
from palimpsest.conversations.ports import Sessions, Summarizer, Summary, SummaryRequest
from palimpsest.conversations.secrets import without_secrets
from palimpsest.conversations.session import Commit, Compaction, Head
from palimpsest.conversations.spoken import is_off_record, visible_text
from palimpsest.conversations.weight import weigh
from palimpsest.conversations.window.fit import SUMMARY_SHARE
from palimpsest.conversations.window.render import SummaryAs, summary_messages
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Jobs, KeepsCalls
from palimpsest.jobs.steps import counting, no_calls_kept
from palimpsest.models.catalogue import priced
from palimpsest.models.ports import TokenCounter
from palimpsest.privacy.secrets import masked
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, paid_by

WITHOUT_MODEL = "extractive"


@dataclass(frozen=True, slots=True)
class _Fold:
    """The result of one step: the messages that were `read` and their summary. `through` is the
    sequence number of the last of them. `summary` is None if no summary may repeat any of them.
    The earlier summary then stays as it is.
    """

    through: int
    read: tuple[Message, ...]
    summary: Summary | None
    summary_as: SummaryAs

    @property
    def messages(self) -> tuple[Chat, ...]:
        return summary_messages(self.summary.text, self.summary_as) if self.summary else ()


@dataclass(frozen=True, slots=True)
class SummarizeOverflow:
    """Does summarize jobs. `models` are the models that a session may name (None allows any). If a
    session's model is no longer among them, the configured model is called.
    """

    sessions: Sessions
    jobs: Jobs
    summarizer: Summarizer
    tokens: TokenCounter
    clock: Clock
    models: tuple[str, ...] | None = None
    keeps_calls: KeepsCalls = no_calls_kept

    @property
    def _overflows(self) -> OverflowJobs:
        return OverflowJobs(self.sessions, self.jobs, self.clock)

    def __call__(self, notice: JobNotice) -> None:
        """Do the job that the notice names. Safe to repeat: no model is called if the job has ended
        or its session no longer waits for it. Raises `ModelFailed` (try again later),
        `Unavailable`.
        """
        taken = self._overflows.take_up(notice)
        if taken is None:
            return
        job, head, settings = taken
        config = summarizing(parsed(dict(settings.memory)))
        if self.models is not None and config.summary_model not in self.models:
            config = config.model_copy(update={"summary_model": None})
        fold = self._fold(job, head, config)
        if until_committed(lambda: self._commit(job, fold), clock=self.clock):
            self._overflows.arm(job)

    def _fold(self, job: Job, head: Head, config: Summarize) -> _Fold:
        scope = Scope(job.tenant).session(job.session)
        messages = self.sessions.messages(scope, first=job.first, last=job.last)
        backlog = tuple(message for message in messages if not head.is_withdrawn(message.seq))
        pinned = (
            self.sessions.messages_at(scope, [seq for seq, _ in head.pins]) if head.pins else ()
        )
        previous = self.sessions.compaction(scope, head.summary) if head.summary else None
        wanted = SummaryRequest(
            self._limit(head, config), config.summary_prompt, config.summary_model, head.user
        )
        room = self.summarizer.capacity(wanted)
        through = step((*pinned, *backlog), previous_tokens=head.summary_tokens, capacity=room)
        if through >= job.first:
            backlog = (*pinned, *backlog)
        # the turns that a pruning kept are too much for one step, so they remain only in the
        # history
        else:
            through = step(backlog, previous_tokens=head.summary_tokens, capacity=room)
        read = tuple(m for m in backlog if m.seq <= through and m.role not in UNSHOWN_ROLES)
        summary = None
        if summarizable := tuple(filter(None, map(_for_summary, read))):
            user = scope.owner.user(head.user)
            with counting(self.jobs, job), paid_by(user), self.keeps_calls(job, user):
                summary = self.summarizer.summarize(
                    summarizable,
                    wanted,
                    previous=masked(previous.summary or "") or None if previous else None,
                )
        return _Fold(through=through, read=read, summary=summary, summary_as=config.summary_as)

    def _limit(self, head: Head, config: Summarize) -> int:
        """Return the most tokens of a summary that fits a context uncut, together with the message
        around it.
        """
        frame = self._weight(summary_messages("", config.summary_as), head.encoding)
        return max(1, min(config.summary_tokens, config.max_tokens // SUMMARY_SHARE - frame))

    def _commit(self, job: Job, fold: _Fold) -> bool:
        """Commit if the session still waits for this job. Returns whether it did. Raises
        `CommitLost`.
        """
        scope = Scope(job.tenant).session(job.session)
        head = self.sessions.open(scope).head
        summary = fold.summary
        used = priced(summary.model, **asdict(summary.usage)) if summary else {}
        if head is None or head.job != job.id:
            self._overflows.discard(job)
            if used:
                self.jobs.spend(job, used)
            return False
        left = [message for message in fold.read if message.seq >= head.window_start]
        tokens = sum(message.tokens for message in left)
        weight = self._weight(fold.messages, head.encoding) if summary else head.summary_tokens
        compaction = Compaction(
            first=head.window_start,
            last=fold.through,
            method=WITHOUT_MODEL,
            created_at=stamp(self.clock.now()),
            tokens_before=head.tokens,
            tokens_after=head.tokens - tokens - head.pin_tokens - head.summary_tokens + weight,
            summary_tokens=weight,
            previous=head.summary,
            newest=head.seq,
        )
        if summary is not None:
            compaction = replace(
                compaction,
                method=summary.method,
                summary=summary.text,
                model=summary.model,
                prompt_hash=summary.prompt_hash,
            )
        result = {"first": compaction.first, "last": compaction.last, "messages": len(fold.read)}
        done = replace(job, state="done", due_at=None, usage=used, result=result)
        after = folded(head, compaction, tokens=tokens, messages=len(left))
        commit = Commit(
            before=head, after=after, guard="window", compaction=compaction, finished=done
        )
        self.sessions.commit(scope, commit)
        return True

    def _weight(self, chats: Sequence[Chat], encoding: str) -> int:
        return sum(weigh(chat, partial(self.tokens.count, encoding=encoding)) for chat in chats)


def _for_summary(message: Message) -> Message | None:
    """Return the message as a summary may repeat it: without secrets, and without the words of
    deleted memories. Return None if nothing else is left, or if it is off the record.
    """
    if is_off_record(message):
        return None
    if message.hidden:
        text = visible_text(message)
        if not text.strip() and not message.chat.get("tool_calls"):
            return None
        message = replace(message, chat={**message.chat, "content": text})
    return without_secrets(message)
