"""A conversation with the stand-in for Bedrock, as it was recorded: each request with its signature
or token, and each answer. Nothing here was recorded at Bedrock itself.

`python -m tests.contract.test_bedrock_recorded` writes the file anew.
"""

from __future__ import annotations

import json
import re
import time
from calendar import timegm
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import botocore.session
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest, HeadersDict
from botocore.credentials import Credentials
from botocore.parsers import create_parser
from openai.types.chat import ChatCompletion
from palimpsest.engines.bedrock.embeddings import BedrockEmbedder
from palimpsest.engines.bedrock.place import BedrockPlace
from palimpsest.engines.bedrock.reranking import BedrockReranker
from palimpsest.engines.bedrock.token import BedrockToken
from palimpsest.models.openai.chat import MAX_OUTPUT_FIELDS, OpenAIChatModel
from palimpsest.models.ports import Schema, Space

from tests.doubles.bedrock import CHAT, KNOWN, REGION, BedrockApi, url_of, verify_token
from tests.doubles.openai_api import Answered, Request

FILE = Path(__file__).with_name("bedrock_conversation.json")
MODEL = "openai.gpt-oss-20b-1:0"
TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-multilingual-v3"
OPERATIONS = {
    "invoke": ("bedrock-runtime", "InvokeModel"),
    "rerank": ("bedrock-agent-runtime", "Rerank"),
}
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
KEPT = re.compile(r"accept|authorization|content-type|host|x-amz-.*")
CREDENTIALS = Credentials(KNOWN.key, KNOWN.secret, KNOWN.session)
Exchange = Mapping[str, Mapping[str, Any]]


def conversation(patch: pytest.MonkeyPatch) -> list[Exchange]:
    """Let each engine speak to the stand-in, and return what both sides sent, in order."""
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
        pairs = zip(api.requests, api.answers, strict=True)
        return [exchange(request, answer) for request, answer in pairs]


def exchange(request: Request, answer: Answered) -> Exchange:
    headers = {name: value for name, value in request.headers.items() if KEPT.fullmatch(name)}
    asked = {"path": request.path, "headers": headers, "body": request.sent.decode()}
    said = {"status": answer.status, "headers": dict(answer.headers), "body": answer.body.decode()}
    return {"request": asked, "answer": said}


def recorded() -> list[Exchange]:
    exchanges: list[Exchange] = json.loads(FILE.read_text(encoding="utf-8"))
    return exchanges


def settled(exchanges: Sequence[Exchange]) -> Any:
    """Exchanges without what differs from one recording to the next: times, signatures, and the
    port. A token is shown as the address that it holds.
    """
    plain = json.loads(json.dumps(exchanges))
    for each in plain:
        headers = each["request"]["headers"]
        if headers["authorization"].startswith("Bearer"):
            headers["authorization"] = url_of(headers["authorization"])
        for name, value in headers.items():
            headers[name] = re.sub(
                r"\d{8}T\d{6}Z|(?<=127.0.0.1:)\d+|(?<=[=/F])\d{8}(?=/|%2F)|[0-9a-f]{64}", "…", value
            )
    return plain


def test_what_both_sides_send_is_as_it_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settled(conversation(monkeypatch)) == settled(recorded())


def test_each_recorded_signature_is_the_one_of_botocores_own_signer() -> None:
    signed = [each["request"] for each in recorded() if each["request"]["path"] != CHAT]
    assert len(signed) == 3
    for request in signed:
        fields = dict(re.findall(r"(\w+)=([^,]+)", request["headers"]["authorization"]))
        assert fields["Credential"].startswith(f"{KNOWN.key}/")
        headers = {name: request["headers"][name] for name in fields["SignedHeaders"].split(";")}
        url = f"http://{request['headers']['host']}{request['path']}"
        asked = AWSRequest("POST", url, headers, request["body"].encode())
        auth = SigV4Auth(CREDENTIALS, "bedrock", REGION)
        assert signature(auth, asked, at=request["headers"]["x-amz-date"]) == fields["Signature"]


def test_each_recorded_token_is_an_address_that_botocores_own_signer_has_signed() -> None:
    chats = [each["request"] for each in recorded() if each["request"]["path"] == CHAT]
    assert len(chats) == 2
    for request in chats:
        authorization = request["headers"]["authorization"]
        url = url_of(authorization)
        address, found, made = url.removesuffix("&Version=1").rpartition("&X-Amz-Signature=")
        assert found
        fields = {name: value for name, (value,) in parse_qs(urlsplit(url).query).items()}
        asked = AWSRequest("POST", address, {"host": "bedrock.amazonaws.com"})
        auth = SigV4QueryAuth(CREDENTIALS, "bedrock", REGION, expires=int(fields["X-Amz-Expires"]))
        assert signature(auth, asked, at=fields["X-Amz-Date"]) == made
        assert (fields["Action"], fields["Version"]) == ("CallWithBearerToken", "1")
        signed_at = timegm(time.strptime(fields["X-Amz-Date"], "%Y%m%dT%H%M%SZ"))
        verify_token(authorization, now=signed_at + 1)


def signature(auth: SigV4Auth, request: AWSRequest, *, at: str) -> str:
    request.context["timestamp"] = at
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return str(auth.signature(text, request))


def test_each_recorded_answer_has_the_form_of_the_api_that_it_stands_in_for() -> None:
    """The form by botocore's models of Bedrock's services, and by the OpenAI package."""
    for each in recorded():
        path, answer = each["request"]["path"], each["answer"]
        body = answer["body"].encode()
        assert answer["status"] == 200
        if path == CHAT:
            completion = ChatCompletion.model_validate_json(body, strict=True)
            assert completion.choices[0].message.content
            continue
        service, name = OPERATIONS[path.rsplit("/", 1)[-1]]
        model = botocore.session.get_session().get_service_model(service)
        shape = model.operation_model(name).output_shape
        assert shape is not None
        raw = {"status_code": 200, "headers": HeadersDict(answer["headers"]), "body": body}
        parsed = create_parser(model.resolved_protocol).parse(raw, shape)
        required = set(shape.required_members)
        assert required <= parsed.keys()
        assert parsed.keys() - {"ResponseMetadata"} <= shape.members.keys()


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        said = json.dumps(conversation(patch), indent=2, ensure_ascii=False)
    FILE.write_text(said + "\n", encoding="utf-8")
