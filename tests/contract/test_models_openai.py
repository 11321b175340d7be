import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest
from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.models.openai.chat import THINKING_ROOM, UNKNOWN_WINDOW, OpenAIChatModel
from palimpsest.models.openai.client import MAX_ANSWER_BYTES
from palimpsest.models.ports import ChatModel, Completion
from palimpsest.models.usage import Usage

from tests.doubles.openai_api import OK, OpenAIApi, Step

pytestmark = pytest.mark.contract


class Known:
    def __init__(self, value: str | None) -> None:
        self.current = value

    def value(self) -> str | None:
        return self.current


@pytest.fixture
def api() -> Iterator[OpenAIApi]:
    with OpenAIApi() as running:
        yield running


def model_on(
    api: OpenAIApi, *, name: str = "gpt-4.1-nano", timeout: float = 60.0
) -> OpenAIChatModel:
    return OpenAIChatModel(key=Known("sk-test"), model=name, base_url=api.base_url, timeout=timeout)


def ask(model: ChatModel, *, name: str | None = None) -> Completion:
    return model.complete(
        instructions="Summarize.", text="<conversation/>", max_tokens=50, model=name
    )


def test_an_answer_comes_with_its_model_and_what_it_cost(api: OpenAIApi) -> None:
    api.script(Step(content=" Sarah is in Marketing.\n"))
    answer = ask(model_on(api))
    assert answer == Completion("Sarah is in Marketing.", "gpt-4.1-nano", Usage(1, 100, 10))


def test_instructions_are_the_system_s_and_data_is_the_user_s(api: OpenAIApi) -> None:
    ask(model_on(api), name="qwen3")
    (request,) = api.requests
    assert request.path == "/chat/completions"
    assert request.body["model"] == "qwen3"
    assert request.body["messages"] == [
        {"role": "system", "content": "Summarize."},
        {"role": "user", "content": "<conversation/>"},
    ]
    assert request.headers["authorization"] == "Bearer sk-test"


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_what_passes_is_unavailable_and_the_client_does_not_try_again(
    api: OpenAIApi, status: int
) -> None:
    api.script(Step(status=status), OK)
    with pytest.raises(ModelUnavailable):
        ask(model_on(api))
    assert len(api.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_request_that_no_retry_mends_is_refused(api: OpenAIApi, status: int) -> None:
    api.script(Step(status=status, code="invalid_value"), OK)
    with pytest.raises(ModelFailed) as caught:
        ask(model_on(api))
    assert caught.value.code == "model_refused_request"
    assert not isinstance(caught.value, ModelUnavailable)
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("step", "seconds"),
    [
        (Step(status=429, retry_after="7"), 7.0),
        (Step(status=503, retry_after="2.5"), 2.5),
        (Step(status=429, retry_after="9", retry_after_ms="1500"), 1.5),
        (Step(status=429, retry_after="9", retry_after_ms="soon"), 9.0),
        (Step(status=429), None),
        (Step(status=429, retry_after="soon"), None),
        (Step(status=429, retry_after="-1"), None),
        (Step(status=429, retry_after="nan"), None),
        (Step(status=429, retry_after="inf"), None),
        (Step(status=429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), 0.0),
    ],
)
def test_how_long_to_wait_is_told(api: OpenAIApi, step: Step, seconds: float | None) -> None:
    api.script(step)
    with pytest.raises(ModelUnavailable) as caught:
        ask(model_on(api))
    assert caught.value.retry_after == seconds


def test_how_long_to_wait_may_be_a_date(api: OpenAIApi) -> None:
    begun = time.time()
    api.script(Step(status=429, retry_after=formatdate(begun + 60, usegmt=True)))
    with pytest.raises(ModelUnavailable) as caught:
        ask(model_on(api))
    assert caught.value.retry_after is not None
    assert 59 - (time.time() - begun) <= caught.value.retry_after <= 60


def test_a_429_then_a_500_are_two_failures_with_their_own_waits(api: OpenAIApi) -> None:
    api.script(Step(status=429, retry_after="3"), Step(status=500), OK)
    model = model_on(api)
    waits = []
    for _ in range(2):
        with pytest.raises(ModelUnavailable) as caught:
            ask(model)
        waits.append(caught.value.retry_after)
    assert waits == [3.0, None]
    assert ask(model).text.startswith("echo")


@pytest.mark.parametrize(
    "step",
    [
        Step(delay=5),
        Step(drip=0.2),
        Step(status=500, drip=0.2),
        Step(reset=True),
        Step(truncated=True),
        Step(status=500, truncated=True),
    ],
    ids=["silent", "dripping", "dripping error", "reset", "truncated", "truncated error"],
)
def test_a_connection_that_fails_is_unavailable_in_time(api: OpenAIApi, step: Step) -> None:
    api.script(step, OK)
    begun = time.monotonic()
    with pytest.raises(ModelUnavailable):
        ask(model_on(api, timeout=0.6))
    assert time.monotonic() - begun < 30
    while not api.requests:  # on a busy machine the server may read it when nobody waits any more
        time.sleep(0.01)
    assert len(api.requests) == 1


@pytest.fixture
def patient_collector() -> Iterator[None]:
    """Garbage is collected when a test says so."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("patient_collector")
def test_a_model_that_nobody_uses_any_more_leaves_no_connection_open(api: OpenAIApi) -> None:
    model = model_on(api)
    api.script(Step(reset=True), OK)
    with pytest.raises(ModelUnavailable):
        ask(model)
    gc.collect(0)  # now the client is older than its connection, and is collected after it
    ask(model)
    del model
    gc.collect()  # an open socket would warn here, and fail this test


def test_no_server_at_all_is_unavailable(api: OpenAIApi) -> None:
    model = OpenAIChatModel(
        key=Known("sk-test"), model="m", base_url="http://127.0.0.1:9/v1", timeout=2
    )
    with pytest.raises(ModelUnavailable):
        ask(model)


@pytest.mark.parametrize(
    "step",
    [
        Step(body=b"Here is your summary: all went well."),
        Step(body=b""),
        Step(body=b"[]"),
        Step(body=b"null"),
        Step(body=b"\xff\xfe"),
        Step(body=b"[" * 100_000),
        Step(body=b'{"choices": [{"message": {"content": "half'),
        Step(body=b'{"choices": null}'),
        Step(body=b'{"choices": []}'),
        Step(body=b'{"choices": ["text"]}'),
        Step(body=b'{"choices": [{"message": null}]}'),
        Step(body=b'{"choices": [{"message": {"content": 7}}]}'),
        Step(body=b'{"error": {"message": "overloaded"}}'),
        Step(body=b'"' + b"x" * MAX_ANSWER_BYTES + b'"'),
        Step(refusal="I can't help with that."),
        Step(content="The first half", finish="content_filter"),
        Step(content=""),
        Step(content=" \n\t"),
        Step(content="", finish="length"),
        Step(content="<think>Well, what"),
    ],
)
def test_an_answer_that_gives_no_text_to_use_is_invalid(api: OpenAIApi, step: Step) -> None:
    api.script(step, OK)
    with pytest.raises(ModelOutputInvalid):
        ask(model_on(api))
    assert len(api.requests) == 1


def test_a_text_cut_off_by_its_limit_is_one_to_use(api: OpenAIApi) -> None:
    api.script(Step(content="Sarah is in Marketing. She", finish="length"))
    assert ask(model_on(api)).text == "Sarah is in Marketing. She"


def test_a_megabyte_of_text_is_read(api: OpenAIApi) -> None:
    api.script(Step(content="word " * 200_000))
    assert len(ask(model_on(api)).text) == 999_999


def test_thoughts_that_a_server_leaves_in_the_text_are_taken_out(api: OpenAIApi) -> None:
    api.script(
        Step(content="<think>\nThe user wants </ a summary.\n</think>\n\nSarah is in Marketing.")
    )
    assert ask(model_on(api)).text == "Sarah is in Marketing."


def test_an_answer_without_model_and_usage_is_one_to_use(api: OpenAIApi) -> None:
    api.script(
        Step(
            body=b'{"choices": [{"message": {"content": "Yes."}}], "usage": {"prompt_tokens": '
            b'"many"}}'
        )
    )
    assert ask(model_on(api)) == Completion("Yes.", "gpt-4.1-nano", Usage(1, 0, 0))


def test_a_server_of_another_is_given_the_limit_by_its_old_name(api: OpenAIApi) -> None:
    ask(model_on(api))
    assert api.requests[0].body["max_tokens"] == 50
    assert "max_completion_tokens" not in api.requests[0].body


def test_openai_itself_is_given_the_limit_by_its_new_name(
    api: OpenAIApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.models.openai.client.OPENAI_URL", api.base_url)
    ask(OpenAIChatModel(key=Known("sk-test"), model="gpt-4.1-nano"))
    assert api.requests[0].body["max_completion_tokens"] == 50


def test_a_limit_refused_by_its_name_is_given_by_the_other_and_that_is_remembered(
    api: OpenAIApi,
) -> None:
    api.script(Step(status=400, code="unsupported_parameter", param="max_tokens"))
    model = model_on(api)
    assert ask(model).text
    assert ask(model).text
    fields = [
        [name for name in request.body if name.startswith("max_")] for request in api.requests
    ]
    assert fields == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]


def test_another_parameter_that_is_refused_is_not_asked_again(api: OpenAIApi) -> None:
    api.script(Step(status=400, code="unsupported_parameter", param="messages"), OK)
    with pytest.raises(ModelFailed):
        ask(model_on(api))
    assert len(api.requests) == 1


def test_a_model_that_thinks_has_room_for_it(api: OpenAIApi) -> None:
    model = model_on(api)
    ask(model, name="gpt-5-nano")
    assert api.requests[0].body["max_tokens"] == 50 + THINKING_ROOM
    assert model.capacity("gpt-5-nano") == 400_000 - THINKING_ROOM


def test_a_model_s_capacity_is_its_window_and_a_stranger_s_is_small(api: OpenAIApi) -> None:
    model = model_on(api)
    assert model.capacity() == 1_047_576
    assert model.capacity("my-own-model") == UNKNOWN_WINDOW
    wide = OpenAIChatModel(key=Known("k"), model="my-own-model", unknown_window=32_768)
    assert wide.capacity() == 32_768


@pytest.mark.parametrize("key", [None, "", " \n"])
def test_without_a_key_nothing_is_sent(api: OpenAIApi, key: str | None) -> None:
    with pytest.raises(ModelUnavailable):
        ask(OpenAIChatModel(key=Known(key), model="m", base_url=api.base_url))
    assert api.requests == []


@pytest.mark.parametrize("key", ["ключ", "sk-test\nHost: elsewhere"])
def test_a_key_that_no_header_can_carry_is_refused(api: OpenAIApi, key: str) -> None:
    with pytest.raises(ModelFailed) as caught:
        ask(OpenAIChatModel(key=Known(key), model="m", base_url=api.base_url))
    assert caught.value.code == "model_refused_request"
    assert api.requests == []


def test_a_key_stored_with_its_line_end_is_used_without(api: OpenAIApi) -> None:
    ask(OpenAIChatModel(key=Known("sk-test\n"), model="m", base_url=api.base_url))
    assert api.requests[0].headers["authorization"] == "Bearer sk-test"


@pytest.mark.parametrize("url", ["nonsense", "http://", "ftp://127.0.0.1/v1"])
def test_an_address_that_is_none_is_unavailable(url: str) -> None:
    with pytest.raises(ModelUnavailable):
        ask(OpenAIChatModel(key=Known("sk-test"), model="m", base_url=url, timeout=2))


def test_half_a_character_in_an_answer_is_replaced(api: OpenAIApi) -> None:
    api.script(
        Step(body=b'{"choices": [{"message": {"content": "smile \\ud83d\\ude00 half \\ud83d"}}]}')
    )
    assert ask(model_on(api)).text == "smile 😀 half \ufffd"


def test_a_new_key_is_used_from_the_next_call_on(api: OpenAIApi) -> None:
    key = Known("sk-old")
    model = OpenAIChatModel(key=key, model="m", base_url=api.base_url)
    ask(model)
    key.current = "sk-new"
    ask(model)
    assert [request.headers["authorization"] for request in api.requests] == [
        "Bearer sk-old",
        "Bearer sk-new",
    ]


def test_no_error_holds_text_of_the_conversation_or_the_key(api: OpenAIApi) -> None:
    api.script(
        Step(status=400),
        Step(status=500),
        Step(body=b"sk-test <conversation/>"),
        Step(refusal="<conversation/>"),
    )
    model = model_on(api)
    for _ in range(4):
        with pytest.raises(ModelFailed) as caught:
            ask(model)
        assert "conversation" not in str(caught.value)
        assert "sk-test" not in str(caught.value)


def test_making_a_model_imports_nothing_heavy() -> None:
    code = "import sys, palimpsest.models.openai.chat as m; m.OpenAIChatModel(key=None, model='m')"
    code += "; print([name for name in ('openai', 'httpx2', 'tiktoken') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"
