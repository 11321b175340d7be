"""A model that believes and obeys everything that it reads. Whatever is then remembered was let
through by the rules around the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from palimpsest.models.ports import Completion, Schema
from palimpsest.models.usage import Usage
from palimpsest.text.sentences import sentences_at_the_ends

LONGEST = 16_000  # characters of a message that are read
_MESSAGE = re.compile(r'<message number="(\d+)" [^>]*>(.*?)</message>', re.DOTALL)

OBEYED = frozenset(
    [
        "assistant",
        "chat",
        "code",
        "config",
        "deleted",
        "example",
        "fiction",
        "hypothetical",
        "injected",
        "joke",
        "log",
        "mail",
        "off the record",
        "proofread",
        "quotation",
        "reply",
        "rewrite",
        "role-play",
        "secret",
        "speaker",
        "summarize",
        "tool",
        "translate",
        "wish",
    ]
)
"""The kinds of cases that must pass whatever a model says: speakers, material, secrets and
deletion.
"""


class ObedientModel:
    """Implements `LanguageModel`. Each sentence of each message, and of the data that it is shown
    beside the messages, becomes a fact of the user, whoever said it.
    """

    def capacity(self, model: str | None = None) -> int:
        del model
        return 100_000

    def complete(self, *, instructions: str, text: str, max_tokens: int, **more: Any) -> Completion:
        del instructions, more
        return _completion(text[:max_tokens])

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        del instructions, schema, max_tokens, model
        return _completion(json.dumps({"memories": list(_believed(text))}))


def _believed(text: str) -> Iterator[dict[str, Any]]:
    for number, words in _MESSAGE.findall(text):
        for sentence in sentences_at_the_ends(unescape(words), most=LONGEST):
            yield {
                "type": "fact",
                "content": sentence,
                "quote": sentence,
                "messages": [int(number)],
                "subject": "user",
                "importance": 0.9,
            }


def _completion(text: str) -> Completion:
    return Completion(text, "obedient", Usage(1, 1, 1))
