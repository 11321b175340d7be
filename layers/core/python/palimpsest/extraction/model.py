"""Extracts by a model, with one call and at most one repair. If an answer was cut off, its complete
part is used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from html import escape
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.spoken import said_at
from palimpsest.conversations.window.render import abridged
from palimpsest.errors import ModelFailed, ModelOutputInvalid
from palimpsest.extraction.answers import ExtractionAnswer, read_answer
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.ports import Extraction, Extractor
from palimpsest.memory.record import Method, SaidType
from palimpsest.models import deadline
from palimpsest.models.catalogue import priced
from palimpsest.models.ports import Completion, JsonModel, Schema, Secret, TokenCounter
from palimpsest.models.usage import Usage
from palimpsest.prompts import files as prompts
from palimpsest.text.cutting import Count

METHOD: Method = "model"
MOST_OUTPUT = 4_000  # tokens
MOST_ROOM = 8_000  # tokens of messages in one step. In more text a model overlooks too much.
LEAST_ROOM = 256  # below it, nothing of a message would be left to extract from
READ_SHARE = 0.8  # of the room. Escapes and the messages before the chunk need the rest.
CHAT_OVERHEAD = 50  # tokens of the chat format and of the tags around the data


# The form of an answer. Answers with faults are read too (extraction/answers.py).
class _Relationship(BaseModel):
    model_config = ConfigDict(extra="forbid")

    start: Annotated[str, Field(alias="from")]
    from_type: str
    type: str
    to: str
    to_type: str
    single: bool


class _Memory(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: SaidType
    content: str
    messages: list[int]
    quote: str
    topic: str | None
    subject: str
    keywords: list[str]
    queries: list[str]
    importance: float
    confidence: float
    occurs_at: str | None
    due_at: str | None
    rests_on: list[str]
    relationships: list[_Relationship]


class _Memories(BaseModel):
    model_config = ConfigDict(extra="forbid")

    memories: list[_Memory]


SCHEMA = Schema.of(_Memories, name="memories")


@dataclass(frozen=True, slots=True)
class ModelExtractor:
    """Implements `Extractor` over a chat model. The messages are sent as escaped data in the user's
    role.
    """

    chat: JsonModel
    tokens: TokenCounter
    model: str | None = None

    def capacity(self, *, prompt: str | None) -> int:
        return min(MOST_ROOM, max(LEAST_ROOM, int(self._room(prompt) * READ_SHARE)))

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        instructions = _instructions(prompt)
        text = self._data(chunk, room=self._room(prompt))
        answer, completion, usage = self._answered(instructions, text)
        is_through = whole or answer.is_whole
        try:
            through, findings = (
                (chunk.last, answer.findings) if is_through else _covered(answer, chunk)
            )
        except ModelOutputInvalid as failure:
            failure.spent = priced(completion.model, **asdict(usage))
            raise
        dropped = {"malformed": answer.malformed, "cut_off": int(whole and not answer.is_whole)}
        return Extraction(
            findings=tuple(findings),
            through=through,
            method=METHOD,
            dropped={reason: number for reason, number in dropped.items() if number},
            model=completion.model,
            prompt_hash=prompts.hash_of(*_templates(prompt)),
            usage=usage,
        )

    def _answered(self, instructions: str, text: str) -> tuple[ExtractionAnswer, Completion, Usage]:
        """Return the answer as read, the call that returned it, and the usage of all calls. After
        an unusable answer, the model is asked once more.
        """
        used = Usage()
        for prompt in (instructions, f"{instructions}\n\n{prompts.load('extraction_repair')}"):
            completion = None
            try:
                completion = self._asked(prompt, text)
                return read_answer(completion.text), completion, used + completion.usage
            except ModelFailed as failure:
                used += completion.usage if completion else self._sent(failure, prompt, text)
                failure.spent = priced(
                    completion.model if completion else failure.model, **asdict(used)
                )
                if prompt != instructions or not isinstance(failure, ModelOutputInvalid):
                    raise
        raise AssertionError  # the second call returns or raises

    def _sent(self, failure: ModelFailed, instructions: str, text: str) -> Usage:
        """Return the usage of a failed call: the tokens that were sent. The tokens of its answer
        are not known.
        """
        if not failure.was_called:
            return Usage()
        return Usage(1, self._count(instructions) + self._count(text))

    def _asked(self, instructions: str, text: str) -> Completion:
        ask = partial(self.chat.complete_json, instructions=instructions, text=text, schema=SCHEMA)
        return deadline.kept(partial(ask, max_tokens=self._output, model=self.model))

    def _data(self, chunk: Chunk, *, room: int) -> str:
        text = _data(chunk.before, chunk.messages)
        if self._count(text) <= room:
            return text
        before = abridged(chunk.before, room=room // 5, count=self._count)
        left = room - self._count(_data(before, ()))
        return _data(
            before, abridged(chunk.messages, room=int(left * READ_SHARE), count=self._count)
        )

    @property
    def _output(self) -> int:
        return min(MOST_OUTPUT, self.chat.capacity(self.model) // 4)

    def _room(self, prompt: str | None) -> int:
        # A repair sends more text than the first call, and must fit the model's window too.
        instructions = (
            _instructions(prompt) + prompts.load("extraction_repair") + json.dumps(SCHEMA.body)
        )
        room = (
            self.chat.capacity(self.model)
            - self._output
            - self._count(instructions)
            - CHAT_OVERHEAD
        )
        return max(LEAST_ROOM, room)

    @property
    def _count(self) -> Count:
        return partial(self._counted, encoding=self.tokens.encoding_for(self.model))

    def _counted(self, text: str, *, encoding: str) -> int:
        return self.tokens.count(text, encoding)


def _covered(answer: ExtractionAnswer, chunk: Chunk) -> tuple[int, Sequence[Finding]]:
    """Return the last message that a cut-off answer covers, and the findings up to that message. A
    model reads the messages in order, so some findings of the last cited message, and all findings
    of later messages, may be missing. Raises `ModelOutputInvalid` if the answer cites no message.
    """
    seqs = {message.seq for message in chunk.messages}
    ends = sorted({max(finding.seqs) for finding in answer.findings} & seqs)
    if not ends:
        raise ModelOutputInvalid("The answer was cut off before it cited a message.")
    through = ends[-1] - 1 if len(ends) > 1 else ends[0]
    return through, [finding for finding in answer.findings if max(finding.seqs) <= through]


def _templates(prompt: str | None) -> tuple[str, str]:
    return prompts.with_own(prompts.load("extraction"), prompt), prompts.load("extraction_rules")


def _instructions(prompt: str | None) -> str:
    return "\n\n".join(_templates(prompt))


def _data(before: Sequence[Message], messages: Sequence[Message]) -> str:
    """Return the messages as data for a prompt, escaped so that no text in them can close their
    element.
    """
    context = f"<context>\n{_elements(before)}\n</context>\n" if before else ""
    return f"{context}<conversation>\n{_elements(messages)}\n</conversation>"


def _elements(messages: Sequence[Message]) -> str:
    return "\n".join(map(_element, messages))


def _element(message: Message) -> str:
    name = message.chat.get("name")
    said_by = f' name="{escape(str(name))}"' if name else ""
    time = said_at(message).strftime("%a %Y-%m-%d %H:%M %z").removesuffix(" +0000")
    text = escape(text_of(message.chat), quote=False)
    number = f'number="{message.seq}" speaker="{message.role}"'
    return f'<message {number}{said_by} time="{time}">{text}</message>'


class Extractors:
    """Implements `Extractor` by a model if its key is stored, else by rules. If the model fails,
    the extraction fails.
    """

    def __init__(self, *, key: Secret, model: Extractor, offline: Extractor) -> None:
        self._key = key
        self._model = model
        self._offline = offline

    def capacity(self, *, prompt: str | None) -> int:
        return self._chosen().capacity(prompt=prompt)

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        return self._chosen().extract(chunk, prompt=prompt, whole=whole)

    def _chosen(self) -> Extractor:
        return self._model if (self._key.value() or "").strip() else self._offline
