"""A model that answers from a script, one step a call: a text, an error to raise, or a wait."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from palimpsest.models.ports import Completion, Schema
from palimpsest.models.usage import Usage


def cited(answer: str, *citations: str) -> str:
    return json.dumps({"answer": answer, "citations": citations})


@dataclass
class ScriptedAnswers:
    """Implements `JsonModel`. `asked` are the texts it was given as data, `told` the instructions;
    a number in the script is a wait in seconds, after which it answers with nothing of use.
    """

    script: Sequence[str | Exception | float]
    asked: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    model: str = "scripted"

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        self.asked.append(text)
        self.told.append(instructions)
        step = self.script[min(len(self.asked), len(self.script)) - 1]
        if isinstance(step, Exception):
            raise step
        if isinstance(step, float):
            time.sleep(step)
            step = "too late"
        return Completion(step, self.model, Usage(model_calls=1, tokens_in=10, tokens_out=5))

    def capacity(self, model: str | None = None) -> int:
        return 8_000
