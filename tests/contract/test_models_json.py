"""Answers in JSON over HTTP: held to the schema as far as a server can, and a whole extraction on
top of it.
"""

import json
from collections.abc import Iterator

import pytest
from palimpsest.conversations.message import Message
from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.model import SCHEMA, ModelExtractor
from palimpsest.extraction.ports import Extraction
from palimpsest.models.openai.chat import REFUSAL_SECONDS, REFUSES_FORMAT, OpenAIChatModel
from palimpsest.models.ports import Completion, JsonModel, Schema
from palimpsest.models.tiktoken_counter import TiktokenCounter
from palimpsest.models.usage import Usage

from tests.doubles.openai_api import OK, OpenAIApi, Step

pytestmark = pytest.mark.contract

ANSWER = json.dumps(
    {"memories": [{"type": "fact", "content": "likes jazz", "messages": [1], "quote": "like jazz"}]}
)


class Known:
    def value(self) -> str | None:
        return "sk-test"


@pytest.fixture
def api() -> Iterator[OpenAIApi]:
    with OpenAIApi(answer=lambda _: ANSWER) as running:
        yield running


def model_on(api: OpenAIApi, *, timeout: float = 60.0) -> OpenAIChatModel:
    return OpenAIChatModel(
        key=Known(), model="gpt-4.1-nano", base_url=api.base_url, timeout=timeout
    )


def ask(model: JsonModel, *, name: str | None = None) -> Completion:
    schema = Schema("thing", {"type": "object"})
    return model.complete_json(
        instructions="JSON.", text="<x/>", schema=schema, max_tokens=50, model=name
    )


def formats(api: OpenAIApi) -> list[str | None]:
    return [(request.body.get("response_format") or {}).get("type") for request in api.requests]


def test_a_server_that_knows_schemas_is_given_ours(api: OpenAIApi) -> None:
    answer = ask(model_on(api))
    (request,) = api.requests
    assert answer == Completion(ANSWER, "gpt-4.1-nano", Usage(1, 100, 10))
    assert request.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "thing", "schema": {"type": "object"}, "strict": True},
    }
    assert request.body["max_tokens"] == 50


@pytest.mark.parametrize("status", sorted(REFUSES_FORMAT))
def test_a_server_that_does_not_is_asked_for_json_and_then_plainly(
    api: OpenAIApi, status: int
) -> None:
    api.script(Step(status=status), Step(status=status), OK)
    assert ask(model_on(api)).text == ANSWER
    assert formats(api) == ["json_schema", "json_object", None]


def test_what_a_server_does_not_know_it_is_not_asked_for_again(api: OpenAIApi) -> None:
    model = model_on(api)
    api.script(Step(status=400))
    ask(model)
    ask(model)
    model.complete(instructions="i", text="t", max_tokens=9)
    ask(model)
    ask(model, name="another")
    assert formats(api) == [
        "json_schema",
        "json_object",
        "json_object",
        None,
        "json_object",
        "json_schema",
    ]


def test_a_server_that_refused_for_a_moment_is_asked_for_our_schema_again(api: OpenAIApi) -> None:
    time = 0.0
    model = OpenAIChatModel(
        key=Known(), model="gpt-4.1-nano", base_url=api.base_url, now=lambda: time
    )
    api.script(Step(status=400), Step(status=400))
    for time in (0.0, REFUSAL_SECONDS - 1, REFUSAL_SECONDS):  # noqa: B007 read by the model
        ask(model)
    assert formats(api) == ["json_schema", "json_object", None, None, "json_schema"]


def test_a_server_that_refuses_every_format_refuses_the_request(api: OpenAIApi) -> None:
    model = model_on(api)
    api.script(*[Step(status=400)] * 3)
    with pytest.raises(ModelFailed) as caught:
        ask(model)
    assert caught.value.code == "model_refused_request"
    ask(model)
    assert formats(api)[3:] == ["json_schema"]


def test_the_limit_s_other_name_and_the_format_are_found_out_together(api: OpenAIApi) -> None:
    api.script(
        Step(status=400, code="unsupported_parameter", param="max_tokens"), Step(status=400), OK
    )
    ask(model_on(api))
    assert formats(api) == ["json_schema", "json_schema", "json_object"]
    assert api.requests[2].body["max_completion_tokens"] == 50


@pytest.mark.parametrize(
    "step", [Step(status=429, retry_after="7"), Step(status=500), Step(reset=True)]
)
def test_what_passes_is_no_reason_to_ask_for_another_format(api: OpenAIApi, step: Step) -> None:
    api.script(step)
    with pytest.raises(ModelUnavailable):
        ask(model_on(api))
    assert formats(api) == ["json_schema"]


def test_all_formats_together_take_no_longer_than_one_call_may(api: OpenAIApi) -> None:
    api.script(Step(status=400, delay=0.3), Step(delay=5))
    with pytest.raises(ModelUnavailable):
        ask(model_on(api, timeout=0.6))


# A whole extraction

TOKENS = TiktokenCounter()


def extract(api: OpenAIApi) -> Extraction:
    chat = {"role": "user", "content": "I like jazz"}
    message = Message(1, "1", 1, 9, "o200k_base", chat, "2026-01-15T09:00:00.000Z")
    return ModelExtractor(model_on(api), TOKENS).extract(Chunk(1, 1, (message,)), prompt=None)


def test_an_extraction_is_one_call(api: OpenAIApi) -> None:
    made = extract(api)
    assert [finding.content for finding in made.findings] == ["likes jazz"]
    assert len(api.requests) == 1
    assert api.requests[0].body["response_format"]["json_schema"]["schema"] == SCHEMA.body


BAD = [
    Step(content="I could not find anything."),
    Step(content="```json\n{}\n```"),
    Step(content='{"memories": [{"type": "fa', finish="length"),
    Step(content='{"facts": []}'),
    Step(content=""),
    Step(content="x" * 1_000_000),
    Step(refusal="I can't."),
    Step(finish="content_filter", content=ANSWER),
    Step(body=b"<html>gateway</html>"),
    Step(body=b'{"error": "busy"}'),
    Step(body=b'{"choices": null}'),
    Step(body=b'{"choices": [{"message": {"content": null, "parsed": null}}]}'),
]


@pytest.mark.parametrize(
    "bad", BAD, ids=lambda step: str(step.content or step.body or step.refusal)[:30]
)
def test_an_answer_of_no_use_is_repaired_once(api: OpenAIApi, bad: Step) -> None:
    api.script(bad, OK)
    made = extract(api)
    assert [finding.content for finding in made.findings] == ["likes jazz"]
    assert made.usage.model_calls == 2


@pytest.mark.parametrize(
    "bad", BAD, ids=lambda step: str(step.content or step.body or step.refusal)[:30]
)
def test_twice_no_use_is_a_failure(api: OpenAIApi, bad: Step) -> None:
    api.script(bad, bad)
    with pytest.raises(ModelOutputInvalid):
        extract(api)
    assert len(api.requests) == 2


def test_an_answer_that_was_cut_off_keeps_what_is_complete(api: OpenAIApi) -> None:
    api.script(Step(content=ANSWER[:-2] + ', {"type": "fact", "cont', finish="length"))
    made = extract(api)
    assert [finding.content for finding in made.findings] == ["likes jazz"]
    assert made.usage.model_calls == 1


def test_no_failure_holds_text_of_the_conversation(api: OpenAIApi) -> None:
    api.script(*[Step(content="I like jazz is no JSON")] * 2)
    with pytest.raises(ModelOutputInvalid) as caught:
        extract(api)
    assert "jazz" not in str(caught.value)
