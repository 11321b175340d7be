"""Answer a question from memories that were recalled: by a model that must cite them, or in their own words."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooSlow
from dataclasses import dataclass, field
from time import monotonic

from palimpsest import prompts
from palimpsest.domain.grounding import SCHEMA, Grounded, Passage, as_data, quoted, read
from palimpsest.errors import ModelFailed, ModelOutputInvalid
from palimpsest.ports.models import Completion, JsonModel, Schema, Usage

MODEL_SECONDS = 20.0  # all calls together: a request waits no longer
MAX_ANSWER_TOKENS = 500
ANSWER_SCHEMA = Schema("grounded_answer", SCHEMA)


@dataclass(frozen=True, slots=True)
class Answered:
    """`method` is `model` or `quoted`; `failed` where a model was asked in vain."""

    grounded: Grounded
    method: str
    failed: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Answer:
    """`model` None: the memories are quoted."""

    model: JsonModel | None
    seconds: float = MODEL_SECONDS

    def __call__(self, question: str, passages: Sequence[Passage]) -> Answered:
        """Never fails for the model's sake: what it can't answer in time, the memories' own words do."""
        if not passages:
            return Answered(Grounded(""), method="quoted" if self.model is None else "model")
        if self.model is None:
            return Answered(quoted(passages), method="quoted")
        usage = Usage()
        threads = ThreadPoolExecutor(1)
        deadline = monotonic() + self.seconds
        try:
            for instructions in _instructions():
                call = threads.submit(self._ask, self.model, instructions, as_data(question, passages))
                completion = call.result(timeout=max(0.0, deadline - monotonic()))
                usage += Usage(model_calls=1) if completion is None else completion.usage
                found = completion and read(completion.text, passages)
                if found:
                    return Answered(found, method="model", usage=usage)
        except (ModelFailed, TooSlow):
            usage += Usage(model_calls=1)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
        return Answered(quoted(passages), method="quoted", failed=True, usage=usage)

    def _ask(self, model: JsonModel, instructions: str, text: str) -> Completion | None:
        """None for an answer that came and says nothing: that can be repaired."""
        try:
            return model.complete_json(
                instructions=instructions, text=text, schema=ANSWER_SCHEMA, max_tokens=MAX_ANSWER_TOKENS
            )
        except ModelOutputInvalid:
            return None


def _instructions() -> tuple[str, str]:
    """Of the call, and of the one that repairs its answer."""
    task = prompts.load("answer")
    return task, f"{task}\n\n{prompts.load('answer_repair')}"
