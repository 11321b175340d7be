"""Paths pass the local gateway as they pass an HTTP API on AWS."""

import asyncio
import types
from typing import Any

import pytest

from infra.local import decoding
from infra.local.decoding import passed_on


@pytest.mark.parametrize(
    ("once", "arrives"),
    [
        ("/capture/plain", "/capture/plain"),
        ("/capture/space value", "/capture/space value"),
        ("/capture/question?value", "/capture/question"),
        ("/capture/question?", "/capture/question"),
        ("/capture/percent%25done", None),
        ("/capture/hash#value", "/capture/hash#value"),
        ("/capture/slash/value", "/capture/slash/value"),
        ("/capture/unicode-λ-世界", "/capture/unicode-λ-世界"),
        ("/capture/literal%252Fvalue", "/capture/literal/value"),
        ("/capture/literal%253Fvalue", "/capture/literal?value"),
        ("/capture/literal%2525value", "/capture/literal%value"),
        ("/v1/users/%2561lice", "/v1/users/alice"),
    ],
)
def test_a_path_arrives_as_it_was_seen_to_arrive_on_aws(once: str, arrives: str | None) -> None:
    """`once` is what MiniStack makes of the path that was sent: it keeps `%25`, and decodes the
    rest once.
    """
    assert passed_on(once) == arrives


def test_a_function_gets_the_path_that_is_passed_on_and_none_for_one_that_is_refused() -> None:
    gateway: Any = types.ModuleType("gateway")
    seen: list[tuple[str, Any]] = []

    async def invoke(
        integration: Any, api_id: str, stage: str, path: str, method: str, **more: Any
    ) -> Any:
        seen.append((path, more["path_params"]))
        return 200, {}, b""

    gateway._invoke_lambda_proxy = invoke
    decoding.install(gateway)

    def sent(path: str) -> int:
        answer = gateway._invoke_lambda_proxy(
            {}, "api", "$default", path, "DELETE", path_params={"proxy": path}
        )
        status: int = asyncio.run(answer)[0]
        return status

    assert (sent("alice?x"), sent("alice%25")) == (200, 400)
    assert seen == [("alice", {"proxy": "alice?x"})]
