"""A stand-in for Amazon Bedrock over real HTTP on loopback. It believes nobody: it verifies the signature of each
request and of each bearer token, and holds requests of Bedrock's own API to botocore's model of the service.

    with BedrockApi() as bedrock:
        bedrock.use(monkeypatch)  # the credentials that it knows
        place = BedrockPlace(region=REGION, url=bedrock.endpoint)
        bedrock.script(Step(status=429, retry_after="2"), OK)

What it refuses it answers as Bedrock does, and lists in `refused`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from calendar import timegm
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import botocore
import pytest
from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel
from botocore.serialize import create_serializer
from botocore.validate import ParamValidator
from palimpsest.engines.bedrock import place

from tests.doubles.openai_api import OpenAIApi, Step
from tests.doubles.openai_embeddings import vector_of
from tests.doubles.signatures import EMPTY, Signed, signature

REGION = "us-west-2"


@dataclass(frozen=True)
class Credentials:
    key: str
    secret: str
    session: str


KNOWN = Credentials("AKIDOFTHISTEST", "secret of this test", "session of this test")
TOKEN_HOST = "bedrock.amazonaws.com"
CHAT = "/openai/v1/chat/completions"
CHAT_FIELDS = {
    "model",
    "messages",
    "max_completion_tokens",
    "response_format",
    "temperature",
    "top_p",
    "stop",
    "stream",
    "tools",
    "tool_choice",
    "reasoning_effort",
}
SERVICES = ("bedrock-runtime", "bedrock-agent-runtime")
HOURS = 12 * 3600


class Refused(Exception):
    """The request that Bedrock would refuse, with the status and code that it answers."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass
class BedrockApi(OpenAIApi):
    """The server. `invoked` is what its own API was asked, in order: the operation's name, and its
    parameters as botocore's model of the service names them.
    """

    refused: list[str] = field(default_factory=list)
    invoked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def use(self, patch: pytest.MonkeyPatch) -> None:
        """Let this process have the credentials that the server knows, and no others."""
        patch.setenv("AWS_ACCESS_KEY_ID", KNOWN.key)
        patch.setenv("AWS_SECRET_ACCESS_KEY", KNOWN.secret)
        patch.setenv("AWS_SESSION_TOKEN", KNOWN.session)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
            patch.delenv(name, raising=False)
        place._session.cache_clear()

    def _play(self, handler: BaseHTTPRequestHandler, step: Step, request: dict[str, Any]) -> None:
        try:
            if handler.path == CHAT:
                verify_token(handler.headers.get("Authorization", ""))
                self._check_chat(request)
                super()._play(handler, step, request)
                return
            body: bytes = handler.sent  # type: ignore[attr-defined]
            verify_signature(handler, body)
            name, parameters = understood(handler, body)
            self.invoked.append((name, parameters))
            answer, tokens = ANSWERS[name](parameters)
            is_right = step.body is None and step.status < 400
            answered = replace(step, body=json.dumps(answer).encode()) if is_right else step
            answered = replace(answered, headers={"X-Amzn-Bedrock-Input-Token-Count": str(tokens)})
            super()._play(handler, answered, request)
        except Refused as refusal:
            self.refused.append(str(refusal))
            step = Step(status=refusal.status, code=refusal.code)
            super()._play(handler, step, request)

    def _check_chat(self, request: Mapping[str, Any]) -> None:
        unknown = set(request) - CHAT_FIELDS
        if unknown:
            raise Refused(400, "unsupported_parameter", f"unknown fields {sorted(unknown)}")
        if not request["messages"] or "max_completion_tokens" not in request:
            raise Refused(400, "invalid_request_error", "no messages or no limit")


def verify_token(authorization: str, *, now: float | None = None) -> None:
    """Raise `Refused` unless the header carries a token of Bedrock that the known credentials
    signed, for this region, and that is still valid.
    """
    kind, _, token = authorization.partition(" ")
    prefix = "bedrock-api-key-"
    if kind != "Bearer" or not token.startswith(prefix):
        raise Refused(403, "invalid_api_key", "no token of Bedrock")
    url = url_of(authorization)
    fields = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    if urlsplit(url).netloc != TOKEN_HOST or fields.get("Action") != "CallWithBearerToken":
        raise Refused(403, "invalid_api_key", "a token for something else")
    if fields.get("Version") != "1":
        raise Refused(403, "invalid_api_key", "a token of another version")
    signed_at = timegm(time.strptime(fields["X-Amz-Date"], "%Y%m%dT%H%M%SZ"))
    lasts = int(fields["X-Amz-Expires"])
    if not 0 < lasts <= HOURS or (now or time.time()) >= signed_at + lasts:
        raise Refused(403, "invalid_api_key", "the token has ended")
    query = urlsplit(url).query.removesuffix("&Version=1")
    signed = Signed(
        method="POST",
        path="/",
        query=query,
        headers={"host": TOKEN_HOST},
        body_hash=EMPTY,
        signed_at=fields["X-Amz-Date"],
        region=REGION,
        service="bedrock",
    )
    _check_credential(fields["X-Amz-Credential"], fields.get("X-Amz-Security-Token"))
    if fields["X-Amz-Signature"] != signature(signed, KNOWN.secret):
        raise Refused(403, "invalid_api_key", "the token's signature is wrong")


def url_of(authorization: str) -> str:
    """Return the signed address that a token of Bedrock holds."""
    token = authorization.removeprefix("Bearer bedrock-api-key-")
    return f"https://{base64.b64decode(token, validate=True).decode()}"


def _check_credential(credential: str, session: str | None) -> None:
    key, _, scope = credential.partition("/")
    if (key, session) != (KNOWN.key, KNOWN.session):
        raise Refused(403, "UnrecognizedClientException", "unknown credentials")
    if not scope.endswith(f"/{REGION}/bedrock/aws4_request"):
        raise Refused(403, "UnrecognizedClientException", "signed for another service or region")


def verify_signature(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Raise `Refused` unless the known credentials signed the request for Bedrock in this region."""
    kind, _, rest = handler.headers.get("Authorization", "").partition(" ")
    if kind != "AWS4-HMAC-SHA256":
        raise Refused(403, "MissingAuthenticationTokenException", "the request is not signed")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    _check_credential(fields["Credential"], handler.headers.get("X-Amz-Security-Token"))
    address = urlsplit(handler.path)
    signed = Signed(
        method=handler.command,
        path=address.path,
        query=address.query,
        headers={name: handler.headers[name] for name in fields["SignedHeaders"].split(";")},
        body_hash=hashlib.sha256(body).hexdigest(),
        signed_at=handler.headers["X-Amz-Date"],
        region=REGION,
        service="bedrock",
    )
    if fields["Signature"] != signature(signed, KNOWN.secret):
        raise Refused(403, "InvalidSignatureException", "the signature is wrong")


def understood(handler: BaseHTTPRequestHandler, body: bytes) -> tuple[str, dict[str, Any]]:
    """Return the operation that is asked for, and its parameters, by botocore's models of Bedrock's
    services. Raise `Refused` if no operation has this address, or if its model forbids a parameter
    or would write the request in another way.
    """
    path = urlsplit(handler.path).path
    for operation in _operations():
        named = re.fullmatch(
            re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", operation.http["requestUri"]), path
        )
        if named and operation.http["method"] == handler.command:
            parameters = _parameters(operation, named.groupdict(), dict(handler.headers), body)
            _check_parameters(operation, parameters, path, body)
            return operation.name, parameters
    raise Refused(404, "UnknownOperationException", f"no operation at {path}")


@cache
def _operations() -> tuple[OperationModel, ...]:
    loader = Loader()
    loader.search_paths.append(str(Path(botocore.__file__).parent / "data"))
    models = [ServiceModel(loader.load_service_model(name, "service-2"), name) for name in SERVICES]
    return tuple(model.operation_model(name) for model in models for name in model.operation_names)


def _parameters(
    operation: OperationModel, named: Mapping[str, str], headers: Mapping[str, str], body: bytes
) -> dict[str, Any]:
    shape = operation.input_shape
    assert shape is not None
    payload = shape.serialization.get("payload")
    told_headers = {name.lower(): value for name, value in headers.items()}
    parameters: dict[str, Any] = {payload: body} if payload else json.loads(body)
    for name, member in shape.members.items():
        place = member.serialization
        if place.get("location") == "uri":
            parameters[name] = unquote(named[place["name"]])
        elif place.get("location") == "header" and place["name"].lower() in told_headers:
            parameters[name] = told_headers[place["name"].lower()]
    return parameters


def _check_parameters(
    operation: OperationModel, parameters: Mapping[str, Any], path: str, body: bytes
) -> None:
    shape = operation.input_shape
    assert shape is not None
    report = ParamValidator().validate(parameters, shape)
    if report.has_errors():
        raise Refused(400, "ValidationException", report.generate_report())
    protocol = operation.service_model.resolved_protocol
    written = create_serializer(protocol).serialize_to_request(dict(parameters), operation)
    if (written["url_path"], json.loads(written["body"])) != (path, json.loads(body)):
        raise Refused(400, "ValidationException", "botocore writes this request in another way")


def _invoke(parameters: Mapping[str, Any]) -> tuple[Any, int]:
    request = json.loads(parameters["body"])
    return MODELS[parameters["modelId"]](request)


def _titan(request: Mapping[str, Any]) -> tuple[Any, int]:
    """Answer as the model's page says (model-parameters-titan-embed-text in Bedrock's guide)."""
    _check_body(request, required={"inputText"}, optional={"dimensions", "normalize"})
    text, dimension = request["inputText"], request.get("dimensions", 1_024)
    if not 1 <= len(text) <= 50_000 or dimension not in (256, 512, 1_024):
        raise Refused(400, "ValidationException", "a text or dimension that Titan does not take")
    return {"embedding": vector_of(text, dimension), "inputTextTokenCount": 7}, 7


def _cohere(request: Mapping[str, Any]) -> tuple[Any, int]:
    """Answer as the model's page says (model-parameters-embed-v3 in Bedrock's guide)."""
    _check_body(request, required={"texts", "input_type"}, optional={"truncate"})
    texts = request["texts"]
    if not 1 <= len(texts) <= 96 or max(map(len, texts)) > 2_048 or not all(texts):
        raise Refused(400, "ValidationException", "texts that Cohere does not take")
    if request["input_type"] not in ("search_document", "search_query"):
        raise Refused(400, "ValidationException", "no such input_type")
    kind = request["input_type"] if request["input_type"] == "search_query" else ""
    vectors = [vector_of(f"{kind}{text}", 1_024) for text in texts]
    answer = {"id": "1", "response_type": "embeddings_floats", "embeddings": vectors}
    return {**answer, "texts": texts}, 7 * len(texts)


def _check_body(request: Mapping[str, Any], *, required: set[str], optional: set[str]) -> None:
    if not required <= set(request) <= required | optional:
        raise Refused(400, "ValidationException", f"malformed body: {sorted(request)}")


def _rerank(parameters: Mapping[str, Any]) -> tuple[Any, int]:
    """Scores are the share of the question's words that a text has. The best come first."""
    configuration = parameters["rerankingConfiguration"]["bedrockRerankingConfiguration"]
    arn = configuration["modelConfiguration"]["modelArn"]
    if arn not in (f"arn:aws:bedrock:{REGION}::foundation-model/{name}" for name in RERANKERS):
        raise Refused(400, "ValidationException", f"no reranker is {arn}")
    words = _words(parameters["queries"][0]["textQuery"]["text"])
    scores = [
        len(words & _words(source["inlineDocumentSource"]["textDocument"]["text"])) / len(words)
        for source in parameters["sources"]
    ]
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    best = order[: configuration.get("numberOfResults", len(order))]
    return {"results": [{"index": at, "relevanceScore": scores[at]} for at in best]}, 0


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) or {text}


RERANKERS = ("amazon.rerank-v1:0", "cohere.rerank-v3-5:0")
MODELS = {"amazon.titan-embed-text-v2:0": _titan, "cohere.embed-multilingual-v3": _cohere}
ANSWERS: dict[str, Callable[[Mapping[str, Any]], tuple[Any, int]]] = {
    "InvokeModel": _invoke,
    "Rerank": _rerank,
}
