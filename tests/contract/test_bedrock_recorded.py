"""A conversation with Bedrock as it was recorded: what is sent is what the file says, to the last field.

`python -m tests.contract.test_bedrock_recorded` writes the file anew.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from palimpsest.engines.bedrock.embeddings import BedrockEmbedder
from palimpsest.engines.bedrock.place import BedrockPlace
from palimpsest.engines.bedrock.reranking import BedrockReranker
from palimpsest.engines.bedrock.token import BedrockToken
from palimpsest.models.openai.chat import MAX_OUTPUT_FIELDS, OpenAIChatModel
from palimpsest.models.ports import Schema, Space

from tests.doubles.bedrock import REGION, BedrockApi

FILE = Path(__file__).with_name("bedrock_conversation.json")
MODEL = "openai.gpt-oss-20b-1:0"
TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-multilingual-v3"
SCHEMA = Schema(
    "memories",
    {
        "type": "object",
        "properties": {"memories": {"type": "array", "items": {"type": "string"}}},
        "required": ["memories"],
        "additionalProperties": False,
    },
)
SAID = "Ich bin nach Lissabon gezogen. \U0001f1f5\U0001f1f9"


def conversation(patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Let each engine speak to the stand-in, and return what was said, in order."""
    with BedrockApi() as api:
        api.use(patch)
        place = BedrockPlace(region=REGION, url=api.endpoint)
        chat = OpenAIChatModel(
            key=BedrockToken(place), base_url=place.chat_url, model=MODEL,
            limit_field=MAX_OUTPUT_FIELDS[0],
        )  # fmt: skip
        chat.complete(instructions="Summarize.", text=SAID, max_tokens=200)
        chat.complete_json(instructions="Extract.", text=SAID, schema=SCHEMA, max_tokens=200)
        BedrockEmbedder(place, space=Space(TITAN, 256)).embed([SAID])
        BedrockEmbedder(place, space=Space(COHERE, 1_024)).embed([SAID], as_questions=True)
        BedrockReranker(place, model="cohere.rerank-v3-5:0").scores(
            "Wo wohnt sie?", [SAID, "Sie mag Tee."], until=time.monotonic() + 60
        )
        assert api.refused == []
        return [shown(request.path, request.headers, request.body) for request in api.requests]


def shown(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what differs from one recording to the next: signatures and times."""
    kind = headers["authorization"].partition(" ")[0]
    return {
        "path": path,
        "authorization": kind,
        "content-type": headers["content-type"],
        "body": dict(body),
    }


def test_each_request_is_as_it_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert conversation(monkeypatch) == json.loads(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        said = json.dumps(conversation(patch), indent=2, ensure_ascii=False)
    FILE.write_text(said + "\n", encoding="utf-8")
