"""The stand-in for the OpenAI API, answering for embeddings: equal texts get equal vectors, without
any meaning.
"""

import hashlib
import struct
from typing import Any

from tests.doubles.openai_api import OpenAIApi, Step

DIMENSION = 1_536


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    raw = hashlib.shake_256(text.encode()).digest(dimension * 2)
    return [number / 32_768 - 1 for number in struct.unpack(f"<{dimension}H", raw)]


class OpenAIEmbeddingsApi(OpenAIApi):
    """Scripted like the other; a step's `content` has no meaning here."""

    def _body(self, step: Step, request: dict[str, Any]) -> dict[str, Any]:
        if step.status >= 400 or "input" not in request:
            return super()._body(step, request)
        dimension = request.get("dimensions", DIMENSION)
        data = [
            {"object": "embedding", "index": number, "embedding": vector_of(text, dimension)}
            for number, text in enumerate(request["input"])
        ]
        usage = {"prompt_tokens": 10, "total_tokens": 10}
        return {"object": "list", "model": request["model"], "data": data[::-1], "usage": usage}
