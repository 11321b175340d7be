"""A stand-in for the models' server. It records each request with its time, and counts the tokens
by stage.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape
from typing import Any

from palimpsest.models.catalogue import NANO_USD, cost
from palimpsest.models.tiktoken_counter import TiktokenCounter

from tests.doubles.openai_api import Request, Step
from tests.doubles.openai_embeddings import OpenAIEmbeddingsApi

SUMMARY_WORDS, EVERY, QUOTED = 150, 2, 80
"""The answers of this server: a summary of `SUMMARY_WORDS` words, and one memory for every `EVERY`
user messages, with a quote of length `QUOTED`.
"""
ENCODING = "o200k_base"
Span = tuple[str, float, float]
"""A stage, and the beginning and end of one of its calls, by the machine's monotonic clock."""
_SAID = re.compile(r'<message number="(\d+)" speaker="user"[^>]*>(.*?)</message>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one stage's calls of one model. tiktoken counts them in the actual requests and
    answers.
    """

    model: str
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        if self.model != other.model:
            raise ValueError("tokens of two models")
        calls, tokens_in = self.calls + other.calls, self.tokens_in + other.tokens_in
        return Tokens(self.model, calls, tokens_in, self.tokens_out + other.tokens_out)

    @property
    def dollars(self) -> float:
        nano = cost(self.model, tokens_in=self.tokens_in, tokens_out=self.tokens_out)
        if nano is None:
            raise LookupError(f"{self.model} has no price")
        return nano / NANO_USD


class RecordingApi(OpenAIEmbeddingsApi):
    """A server that records its requests. `recorded` has each request with its time."""

    def __init__(self) -> None:
        super().__init__(answer=answer)
        self.recorded: list[tuple[float, Request]] = []

    def _take(self, request: Request) -> Step:
        self.recorded.append((time.monotonic(), request))
        return super()._take(request)


def answer(request: Mapping[str, Any]) -> str:
    """Return the answer to a request. If memories are to be extracted, these are the users' own
    words. Otherwise it is the beginning of the text.
    """
    text = request["messages"][-1]["content"]
    conversation = text.rpartition("<conversation>")[2]
    if sentences := _SAID.findall(conversation) if "response_format" in request else []:
        return json.dumps(
            {
                "memories": [
                    _memory(int(number), unescape(words)) for number, words in sentences[::EVERY]
                ]
            }
        )
    return " ".join(text.split()[:SUMMARY_WORDS])


def _memory(number: int, words: str) -> dict[str, Any]:
    return {
        "type": "fact",
        "content": words[:QUOTED],
        "messages": [number],
        "quote": words[:QUOTED],
        "topic": None,
        "subject": "user",
        "keywords": words.split()[:3],
        "queries": [f"What about {words[:30]}?"],
        "importance": 0.7,
        "confidence": 0.9,
    }


def tokens_of(
    recorded: Iterable[tuple[float, Request]], spans: Sequence[Span]
) -> dict[str, Tokens]:
    """Return the tokens by stage. A request belongs to the stage during whose call it came."""
    tokens: dict[str, Tokens] = {}
    for moment, request in recorded:
        stage = next(stage for stage, begun, ended in spans if begun <= moment <= ended)
        used = _tokens(request.body)
        tokens[stage] = tokens.get(stage, Tokens(used.model)) + used
    return tokens


def _tokens(body: Mapping[str, Any]) -> Tokens:
    if "input" in body:
        return Tokens(body["model"], 1, sum(map(_count, body["input"])))
    texts = [message["content"] for message in body["messages"]]
    texts += [json.dumps(body["response_format"])] if "response_format" in body else []
    return Tokens(body["model"], 1, sum(map(_count, texts)), _count(answer(body)))


def _count(text: str) -> int:
    return _counter().count(text, ENCODING)


@cache
def _counter() -> TiktokenCounter:
    return TiktokenCounter()
