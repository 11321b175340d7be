"""Answers a question from memories alone. It asks a model, and accepts only answers that cite
memories.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from html import escape
from time import monotonic
from typing import Any

from pydantic import BaseModel, ConfigDict

from palimpsest import parallel
from palimpsest.conversations.spoken import line_of
from palimpsest.errors import CostLimitReached, ModelFailed, ModelOutputInvalid
from palimpsest.memory.as_line import MATERIAL, NO_LONGER_SURE, OUTDATED
from palimpsest.models.catalogue import NANO_USD, cost
from palimpsest.models.ports import Completion, JsonModel, Schema
from palimpsest.models.usage import Usage
from palimpsest.prompts import files as prompts
from palimpsest.text.cutting import harmless

USER_MEMORY = "[User Memory]"
NOTHING = "No relevant memories."


class _GroundedAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    answer: str
    citations: list[str]


@dataclass(frozen=True, slots=True)
class Passage:
    """A memory as a model reads it.

    `said_at` is in epoch milliseconds. `who` names the speaker if the memory is in the speaker's
    own words. It is None if the memory speaks of the user in the third person. The text shows
    `similarity` unless it is None. `when` says when the content happens, happened or was due. A
    line shows it instead of the day on which the memory was said. That day is also not shown if the
    content itself names a day (`names_its_day`).
    """

    id: str
    content: str
    said_at: int
    who: str | None = None
    is_outdated: bool = False
    similarity: float | None = None
    is_material: bool = False
    when: str | None = None
    rests_on_changed: bool = False
    names_its_day: bool = False

    @property
    def day(self) -> str:
        return datetime.fromtimestamp(self.said_at / 1000, UTC).date().isoformat()


@dataclass(frozen=True, slots=True)
class Grounded:
    """An answer with the ids of the memories that support it. If the memories hold no answer, the
    text is empty and there are no citations.
    """

    answer: str
    citations: tuple[str, ...] = ()


def as_data(question: str, passages: Sequence[Passage]) -> str:
    """Write the question and the memories for a prompt. They are escaped, so no text in them can
    close an element. The memories get the ids m1, m2 and so on.
    """
    elements = "\n".join(_element(number, passage) for number, passage in enumerate(passages, 1))
    return (
        f"<memories>\n{elements}\n</memories>\n<question>{escape(question, quote=False)}</question>"
    )


def _element(number: int, passage: Passage) -> str:
    speaker = f' speaker="{escape(passage.who)}"' if passage.who else ""
    outdated = ' outdated="in part"' if passage.is_outdated else ""
    content = escape(passage.content, quote=False)
    kind = ' kind="material"' if passage.is_material else ""
    when = f' when="{escape(passage.when)}"' if passage.when else ""
    changed = f' note="{NO_LONGER_SURE}"' if passage.rests_on_changed else ""
    attributes = f'id="m{number}" date="{passage.day}"{when}{speaker}{outdated}{changed}{kind}'
    return f"<memory {attributes}>{content}</memory>"


def read(text: str, passages: Sequence[Passage]) -> Grounded | None:
    """Read a model's answer and keep the citations that name one of the passages. Return None if
    the answer can't be used.

    An answer that cites none of the passages can't be used, because nothing supports it.
    """
    reply = _object(text)
    answer, cited = reply.get("answer"), reply.get("citations")
    if not isinstance(answer, str) or not isinstance(cited, list):
        return None
    ids = {f"m{number}": passage.id for number, passage in enumerate(passages, 1)}
    # Some models cite "[m1]", as they do in prose.
    names = (str(name).strip().strip("[]") for name in cited)
    citations = tuple(dict.fromkeys(ids[name] for name in names if name in ids))
    if not answer.strip():
        return Grounded("")
    return Grounded(answer.strip(), citations) if citations else None


def _object(text: str) -> Mapping[str, Any]:
    """Return the first JSON object in the text, whatever text surrounds it. Return an empty object
    if there is none.
    """
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        return value if isinstance(value, dict) else {}
    return {}


def user_memory(passages: Sequence[Passage]) -> str:
    """Render the memories as plain text, one in each line. Line breaks and invisible characters are
    removed, so that no memory looks like two.
    """
    lines = [f"- {line_of_passage(passage)}{_similarity(passage)}" for passage in passages]
    return "\n".join((USER_MEMORY, *(lines or [f"- {NOTHING}"])))


def _similarity(passage: Passage) -> str:
    return "" if passage.similarity is None else f" (similarity {passage.similarity:.2f})"


def line_of_passage(passage: Passage) -> str:
    outdated = f" ({OUTDATED})" if passage.is_outdated else ""
    outdated += f" ({MATERIAL})" if passage.is_material else ""
    content = harmless(passage.content)
    if passage.rests_on_changed:
        content += f" ({NO_LONGER_SURE})"
    if passage.when is not None:
        return line_of(f"{content} ({passage.when}){outdated}", who=passage.who, day=None)
    if passage.names_its_day:
        return line_of(content + outdated, who=passage.who, day=None)
    return line_of(content, who=passage.who, day=passage.day + outdated)


MODEL_SECONDS = 20.0  # for all model calls of one request together
MAX_ANSWER_TOKENS = 500  # an answer is a few sentences; the caller waits for it
ANSWER_SCHEMA = Schema.of(_GroundedAnswer, name="grounded_answer")


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of a question. `method` is `model` or `quoted`. `failed` is true if a model was
    asked but gave no usable answer in time. `cost_usd` is the cost of the model's calls, or None if
    the price or the tokens of a call are unknown.
    """

    grounded: Grounded
    method: str
    failed: bool = False
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0


def _cost(model: str, used: Usage) -> int | None:
    return cost(model, tokens_in=used.tokens_in, tokens_out=used.tokens_out)


@dataclass(slots=True)
class _Spent:
    """The usage and cost of the calls so far."""

    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0

    def add(self, completion: Completion | None) -> None:
        """Add one call. None means that its usage is unknown."""
        if completion is None:
            self.usage += Usage(model_calls=1)
            self.cost_usd = None
            return
        self.usage += completion.usage
        price = _cost(completion.model, completion.usage)
        if price is None or self.cost_usd is None:
            self.cost_usd = None
        else:
            self.cost_usd += price / NANO_USD


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """Answers questions from given memories. Without a `model`, the answer is what `quote` makes
    of the memories. `seconds` limits the time of all model calls together.
    """

    model: JsonModel | None
    quote: Callable[[], Grounded]
    seconds: float = MODEL_SECONDS

    def __call__(self, question: str, passages: Sequence[Passage]) -> Answered:
        """Answer the question from these memories, which are sorted best first. If the model fails
        or takes too long, the answer quotes the memories and nothing is raised.
        """
        if not passages:
            return Answered(Grounded(""), method="quoted" if self.model is None else "model")
        if self.model is None:
            return Answered(self.quote(), method="quoted")
        spent = _Spent()
        deadline = monotonic() + self.seconds
        try:
            for instructions in _instructions():
                ask = partial(self._ask, self.model, instructions, as_data(question, passages))
                # On a thread of its own, because a model's client may outlast the deadline.
                completion = parallel.begin(ask, until=deadline).result()
                spent.add(completion)
                grounded = completion and read(completion.text, passages)
                if grounded:
                    return Answered(
                        grounded, method="model", usage=spent.usage, cost_usd=spent.cost_usd
                    )
        except CostLimitReached:
            # The call was refused before it cost anything, so the cost is still known.
            pass
        except (ModelFailed, TimeoutError):
            spent.add(None)
        return Answered(
            self.quote(), method="quoted", failed=True, usage=spent.usage, cost_usd=spent.cost_usd
        )

    def _ask(self, model: JsonModel, instructions: str, text: str) -> Completion | None:
        """Return the model's completion, or None if its output is invalid. A second call may repair
        invalid output.
        """
        try:
            return model.complete_json(
                instructions=instructions,
                text=text,
                schema=ANSWER_SCHEMA,
                max_tokens=MAX_ANSWER_TOKENS,
            )
        except ModelOutputInvalid:
            return None


def _instructions() -> tuple[str, str]:
    """Return the instructions of the first call, and those of a second call that repairs the first
    answer.
    """
    task = prompts.load("answer")
    return task, f"{task}\n\n{prompts.load('answer_repair')}"
