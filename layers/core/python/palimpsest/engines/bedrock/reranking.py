"""Reranking by a model of Bedrock, in the regions that have one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import takewhile
from typing import Any

from palimpsest import parallel
from palimpsest.engines.bedrock.calls import asking
from palimpsest.engines.bedrock.place import AGENTS, BedrockPlace
from palimpsest.errors import ModelOutputInvalid, ModelUnavailable
from palimpsest.models.catalogue import cost_of_reranking
from palimpsest.models.openai.embeddings import readable

CALL_SECONDS = 2.0  # for a call whose caller no longer waits
MOST_BYTES = 8_000
"""The most bytes of a text that are sent. A call allows 32,000 characters for each text, but a
model reads only 4,096 tokens of question and text.
"""


class BedrockReranker:
    """Implements `Reranker`. All texts are read in one call, so either all texts have a score in
    time or no text has. `count` is called with the usage of each call that was answered.
    """

    def __init__(
        self,
        place: BedrockPlace,
        *,
        model: str,
        count: Callable[[Mapping[str, int]], None] | None = None,
    ) -> None:
        self._place = place
        self._model = model
        self._count = count

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        if not texts:
            return []
        ask = partial(self._asked, question, texts)
        try:
            answer = parallel.begin(ask, until=until).result()
        except TimeoutError as error:
            raise ModelUnavailable("The reranker took too long.") from error
        scores = _scores(answer)
        return [scores[place] for place in takewhile(scores.__contains__, range(len(texts)))]

    def _asked(self, question: str, texts: Sequence[str]) -> Mapping[str, Any]:
        sources = [{"type": "INLINE", "inlineDocumentSource": _document(text)} for text in texts]
        configuration = {
            "modelConfiguration": {"modelArn": self._place.model_arn(self._model)},
            "numberOfResults": len(texts),
        }
        with asking():
            answer: Mapping[str, Any] = self._client.rerank(
                queries=[{"type": "TEXT", "textQuery": {"text": _text(question)}}],
                sources=sources,
                rerankingConfiguration={
                    "type": "BEDROCK_RERANKING_MODEL",
                    "bedrockRerankingConfiguration": configuration,
                },
            )
        if self._count is not None:
            self._count(cost_of_reranking(self._model))
        return answer

    @cached_property
    def _client(self) -> Any:
        return self._place.client(AGENTS, seconds=CALL_SECONDS)


def _document(text: str) -> Mapping[str, Any]:
    return {"type": "TEXT", "textDocument": {"text": _text(text)}}


def _text(text: str) -> str:
    return readable(text, max_tokens=MOST_BYTES)


def _scores(answer: Mapping[str, Any]) -> dict[int, float]:
    try:
        return {
            int(result["index"]): float(result["relevanceScore"]) for result in answer["results"]
        }
    except (ValueError, TypeError, LookupError) as error:
        raise ModelOutputInvalid("The reranker's answer holds no scores.") from error
