"""The summaries that a model writes. Each takes one call and at most one repair, and never exceeds
its token limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from html import escape

from palimpsest.conversations.message import UNSHOWN_ROLES, Message
from palimpsest.conversations.ports import Summarizer, Summary, SummaryRequest
from palimpsest.conversations.window.days import dated_message
from palimpsest.conversations.window.render import abridged, transcript
from palimpsest.errors import CostLimitReached, ModelFailed, ModelOutputInvalid
from palimpsest.models.catalogue import priced
from palimpsest.models.ports import ChatModel, Completion, Secret, TokenCounter
from palimpsest.models.usage import Usage
from palimpsest.prompts import files as prompts
from palimpsest.text.cutting import Count, cut, shortened
from palimpsest.text.sentences import is_terminated

METHOD = "model"
# how many words the model is asked for per token of the limit, because models count words better
# than tokens
WORDS_PER_TOKEN = 0.6
CHAT_OVERHEAD = 50  # tokens of the chat format and of the tags around the data
READ_SHARE = (
    0.5  # of the room; the elements around short messages weigh as much as these, and escapes more
)
FIT_SHARE = 0.95
FAR_TOO_LONG = 2  # times the limit; a longer summary is requested again, a shorter one is cut
LEAST_ROOM = 256  # below it, nothing of a message would be left to summarize
MOST_ROOM = 150_000  # the tokens that a model can read and write within the time of one call


@dataclass(frozen=True, slots=True)
class _Step:
    """One summary to write: the text for the model, the token limit of the summary, and the usage
    of sending the text.
    """

    instructions: str
    text: str
    model: str | None
    limit: int
    words: int
    sent: Usage

    @property
    def output(self) -> int:
        return _output(self.limit)


@dataclass(frozen=True, slots=True)
class ModelSummarizer:
    """Implements `Summarizer` over a chat model. The messages are sent as escaped data in the
    user's role.
    """

    chat: ChatModel
    tokens: TokenCounter

    def capacity(self, wanted: SummaryRequest) -> int:
        return min(
            MOST_ROOM, max(LEAST_ROOM, int(self._room(wanted, self._limit(wanted)) * READ_SHARE))
        )

    def summarize(
        self, messages: Sequence[Message], wanted: SummaryRequest, *, previous: str | None
    ) -> Summary:
        dated = [
            dated_message(message) for message in messages if message.role not in UNSHOWN_ROLES
        ]
        step = self._step(previous, dated, wanted)
        encoding = messages[-1].encoding if messages else self.tokens.encoding_for(wanted.model)
        count = partial(self.tokens.count, encoding=encoding)
        completion, usage = self._written(step, count)
        try:
            text = _within(completion, step, count)
        except ModelOutputInvalid as failure:
            failure.spent = priced(completion.model, **asdict(usage))
            raise
        return Summary(
            text=text,
            method=METHOD,
            model=completion.model,
            prompt_hash=prompts.hash_of(*_templates(wanted.prompt)),
            usage=usage,
        )

    def _step(
        self, previous: str | None, messages: Sequence[Message], wanted: SummaryRequest
    ) -> _Step:
        count, limit = self._counter(wanted.model), self._limit(wanted)
        room = max(LEAST_ROOM, int(self._room(wanted, limit) * FIT_SHARE))
        text = _data(previous, messages)
        size = count(text)
        if size > room:
            previous = cut(previous, limit=room // 3, count=count)[0] if previous else None
            left = room - count(_data(previous, ()))
            text = _data(previous, abridged(messages, room=left, count=count))
            size = count(text)
        instructions = _instructions(wanted.prompt, limit)
        sent = Usage(model_calls=1, tokens_in=count(instructions) + size)
        return _Step(instructions, text, wanted.model, limit, _words(limit), sent)

    def _written(self, step: _Step, count: Count) -> tuple[Completion, Usage]:
        """Return the answer to use, and the usage of all calls. If an answer is empty or far too
        long, the model is asked a second time.
        """
        long: Completion | None = None
        usage = step.sent  # the answer's tokens of a failed call are unknown
        try:
            completion = self._asked(step, step.instructions)
            if count(completion.text) <= step.limit * FAR_TOO_LONG:
                return completion, completion.usage
            long, usage = completion, completion.usage
        except ModelOutputInvalid:
            pass
        except ModelFailed as failure:
            failure.spent = priced(
                failure.model, **asdict(usage if failure.was_called else Usage())
            )
            raise
        repair = prompts.load("summary_repair").replace("{words}", str(step.words))
        try:
            completion = self._asked(step, f"{step.instructions}\n\n{repair}")
        except ModelFailed as failure:
            usage += step.sent if failure.was_called else Usage()
            if long is None:
                failure.spent = priced(failure.model, **asdict(usage))
                raise
            return long, usage
        return completion, usage + completion.usage

    def _asked(self, step: _Step, instructions: str) -> Completion:
        return self.chat.complete(
            instructions=instructions, text=step.text, max_tokens=step.output, model=step.model
        )

    def _limit(self, wanted: SummaryRequest) -> int:
        """Return the token limit of a summary. It is lower for a model with a small window, so that
        the next call has room for messages beside the summary.
        """
        return max(1, min(wanted.max_tokens, self.chat.capacity(wanted.model) // 4))

    def _room(self, wanted: SummaryRequest, limit: int) -> int:
        instructions = _instructions(wanted.prompt, limit) + prompts.load("summary_repair")
        return (
            self.chat.capacity(wanted.model)
            - _output(limit)
            - self._counter(wanted.model)(instructions)
            - CHAT_OVERHEAD
        )

    def _counter(self, model: str | None) -> Count:
        return partial(self.tokens.count, encoding=self.tokens.encoding_for(model))


def _output(limit: int) -> int:
    """Return the model's output limit in tokens. It is higher than the summary's limit, so that the
    summary can be cut at the end of a sentence.
    """
    return limit + limit // 5 + 20


def _within(completion: Completion, step: _Step, count: Count) -> str:
    """Return the answer's text, shortened to the limit. A last sentence that the model's output
    limit cut off is removed.
    """
    text = shortened(completion.text, limit=step.limit, count=count)[0].strip()
    if completion.usage.tokens_out >= step.output and not is_terminated(text):
        text = shortened(text, limit=max(1, count(text) - 1), count=count)[0].strip()
    if not text:
        raise ModelOutputInvalid("Nothing of the summary fits its limit.")
    return text


def _templates(prompt: str | None) -> tuple[str, str]:
    return prompts.with_own(prompts.load("summary"), prompt), prompts.load("summary_rules")


def _instructions(prompt: str | None, limit: int) -> str:
    task, rules = _templates(prompt)
    return f"{task}\n\n{rules.replace('{words}', str(_words(limit)))}"


def _words(limit: int) -> int:
    return max(10, int(limit * WORDS_PER_TOKEN))


def _data(previous: str | None, messages: Sequence[Message]) -> str:
    """Return the earlier summary and the messages as data for a prompt. They are escaped, so that
    no text can close its element.
    """
    before = (
        f"<previous_summary>{escape(previous, quote=False)}</previous_summary>\n"
        if previous
        else ""
    )
    return f"{before}<conversation>\n{transcript(messages)}\n</conversation>"


class Summaries:
    """Implements `Summarizer`. A model writes the summaries if there is a key and the tenant's cost
    limit is not reached; otherwise they are written without a model. An error of the model is
    raised.
    """

    def __init__(self, *, key: Secret, model: Summarizer, offline: Summarizer) -> None:
        self._key = key
        self._model = model
        self._offline = offline

    def capacity(self, wanted: SummaryRequest) -> int:
        return self._chosen().capacity(wanted)

    def summarize(
        self, messages: Sequence[Message], wanted: SummaryRequest, *, previous: str | None
    ) -> Summary:
        try:
            return self._chosen().summarize(messages, wanted, previous=previous)
        except CostLimitReached:
            return self._offline.summarize(messages, wanted, previous=previous)

    def _chosen(self) -> Summarizer:
        return self._model if (self._key.value() or "").strip() else self._offline
