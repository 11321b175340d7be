"""An HTTP API as Lambda sees it: events of payload format 2.0 in, answers out."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

ALL_SCOPES = "read write admin"
Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


class LambdaContext:
    function_name = "function"
    function_version = "1"
    memory_limit_in_mb = "512"
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:function"
    aws_request_id = "invocation-1"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def http_event(
    method: str,
    path: str,
    body: str | None = None,
    *,
    query: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
    authorizer: Mapping[str, Any] | None = None,
    is_base64: bool = False,
) -> dict[str, Any]:
    context: dict[str, Any] = {
        "accountId": "123456789012",
        "apiId": "api",
        "domainName": "api.execute-api.us-east-1.amazonaws.com",
        "http": {
            "method": method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": "127.0.0.1",
            "userAgent": "test",
        },
        "requestId": "request-1",
        "routeKey": "ANY /v1/sessions/{proxy+}",
        "stage": "$default",
        "time": "01/Jan/2026:00:00:00 +0000",
        "timeEpoch": 1767225600000,
    }
    if authorizer is not None:
        context["authorizer"] = authorizer
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": context["routeKey"],
        "rawPath": path,
        "rawQueryString": urlencode(query or {}, doseq=True),
        "headers": {"content-type": "application/json", **(headers or {})},
        "requestContext": context,
        "isBase64Encoded": is_base64,
    }
    if query:
        joined = {
            name: ",".join(value) if isinstance(value, list) else str(value)
            for name, value in query.items()
        }
        event["queryStringParameters"] = joined
    if body is not None:
        event["body"] = body
    return event


def invoked(handler: Handler, event: dict[str, Any]) -> dict[str, Any]:
    """The handler's answer, through JSON as the runtime sends it."""
    answer: dict[str, Any] = json.loads(json.dumps(handler(event, LambdaContext())))
    return answer


class Client:
    """Calls a handler as a tenant's key would."""

    def __init__(self, handler: Handler, *, tenant: str = "acme", scopes: str = ALL_SCOPES) -> None:
        self._handler = handler
        self._authorizer = {"lambda": {"tenant": tenant, "scopes": scopes, "key_id": "k" * 64}}

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: str | None = None,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        is_base64: bool = False,
    ) -> Answer:
        text = raw if raw is not None else None if body is None else json.dumps(body)
        event = http_event(
            method,
            path,
            text,
            query=query,
            headers=headers,
            authorizer=self._authorizer,
            is_base64=is_base64,
        )
        answer = invoked(self._handler, event)
        assert answer["isBase64Encoded"] is False
        return Answer(answer["statusCode"], answer["headers"], answer["body"])

    def append(self, session: str, *texts: str, **more: Any) -> Answer:
        body = {
            "user_id": "sarah",
            "messages": [{"role": "user", "content": text} for text in texts],
            **more,
        }
        return self("POST", f"/v1/sessions/{session}/messages", body)

    def save(self, *memories: Mapping[str, Any] | str, user: str = "sarah") -> Answer:
        """Save memories; a text is a fact."""
        bodies = [
            {"type": "fact", "content": memory} if isinstance(memory, str) else memory
            for memory in memories
        ]
        return self("POST", f"/v1/users/{user}/memories", {"memories": bodies})


def authorizer_event(authorization: str | None, *, query: str = "") -> dict[str, Any]:
    """What a Lambda authorizer of an HTTP API is asked, payload format 2.0."""
    request = http_event("GET", "/v1/sessions")
    sources = {} if authorization is None else {"identitySource": [authorization]}
    headers = {} if authorization is None else {"authorization": authorization}
    return {
        **request,
        **sources,
        "type": "REQUEST",
        "routeArn": "arn:aws:execute-api:us-east-1:123456789012:api/$default/GET/v1/sessions",
        "rawQueryString": query,
        "headers": headers,
    }
