"""The language model of Bedrock, through the OpenAI package and with tokens of the role."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from botocore.credentials import RefreshableCredentials
from palimpsest import settings
from palimpsest.engines.bedrock import place
from palimpsest.engines.bedrock.place import BedrockPlace
from palimpsest.engines.bedrock.token import RENEWED_AFTER, BedrockToken
from palimpsest.errors import ModelFailed, ModelUnavailable
from palimpsest.models.openai.chat import OpenAIChatModel
from palimpsest.models.ports import Schema
from palimpsest.wiring import models

from tests.doubles.bedrock import CHAT, KNOWN, REGION, BedrockApi, Refused, verify_token
from tests.doubles.openai_api import Step

MODEL = "openai.gpt-oss-20b-1:0"
SCHEMA = Schema("answer", {"type": "object", "properties": {}, "additionalProperties": False})


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[BedrockApi]:
    with BedrockApi() as running:
        running.use(monkeypatch)
        yield running


@pytest.fixture
def environment(api: BedrockApi) -> settings.PaidSettings:
    return settings.PaidSettings(
        stage="test", powertools_service_name="test", models_from="bedrock", chat_model=MODEL,
        bedrock_region=REGION, bedrock_url=api.endpoint, tenants_table="t", sessions_table="s",
    )  # fmt: skip


@pytest.fixture
def model(environment: settings.PaidSettings) -> OpenAIChatModel:
    return models.chat_model(environment)


def test_bedrock_answers_a_call_that_the_role_has_signed(
    model: OpenAIChatModel, api: BedrockApi
) -> None:
    answer = model.complete(instructions="Say it again.", text="Hello", max_tokens=100)
    assert answer.text == "echo: Hello"
    assert answer.model == MODEL
    assert api.refused == []
    (request,) = api.requests
    assert request.path == CHAT
    assert request.body["max_completion_tokens"] > 100  # this model's reasoning counts as output


def test_an_answer_in_json_is_asked_for_in_the_form_that_bedrock_takes(
    model: OpenAIChatModel, api: BedrockApi
) -> None:
    api.script(Step(content="{}"))
    answer = model.complete_json(instructions="", text="Hello", schema=SCHEMA, max_tokens=100)
    assert answer.text == "{}"
    assert api.requests[0].body["response_format"]["type"] == "json_schema"


def test_reasoning_that_bedrock_leaves_in_the_text_is_no_part_of_the_answer(
    model: OpenAIChatModel, api: BedrockApi
) -> None:
    api.script(Step(content="<reasoning>They greet.\nI greet back.</reasoning>Good morning!"))
    answer = model.complete(instructions="", text="Hello", max_tokens=100)
    assert answer.text == "Good morning!"


@pytest.mark.parametrize(
    ("status", "failure"),
    [(429, ModelUnavailable), (503, ModelUnavailable), (403, ModelFailed), (404, ModelFailed)],
)
def test_bedrocks_refusals_are_failures_of_the_model(
    model: OpenAIChatModel, api: BedrockApi, status: int, failure: type[ModelFailed]
) -> None:
    api.script(Step(status=status, retry_after="3"))
    with pytest.raises(ModelFailed) as caught:
        model.complete(instructions="", text="Hello", max_tokens=100)
    assert type(caught.value) is failure


def test_without_credentials_there_is_no_key_and_nothing_is_asked(
    environment: settings.PaidSettings, api: BedrockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    place._session.cache_clear()
    assert not models.has_key(environment)
    with pytest.raises(ModelUnavailable):
        models.chat_model(environment).complete(instructions="", text="Hello", max_tokens=9)
    assert api.requests == []


def test_a_profile_that_this_machine_does_not_have_is_no_key(
    environment: settings.PaidSettings,
) -> None:
    told = environment.model_copy(update={"bedrock_profile": "nobody"})
    assert not models.has_key(told)


def test_a_token_is_signed_anew_before_it_ends(api: BedrockApi) -> None:
    now = [1_000_000.0]
    token = BedrockToken(BedrockPlace(region=REGION), now=lambda: now[0])
    first = token.value()
    now[0] += RENEWED_AFTER - 1
    assert token.value() == first
    now[0] += 2
    assert token.value() is not None
    verify_token(f"Bearer {token.value()}")


class Role:
    """A role whose credentials are given anew: the last ones end in `minutes`."""

    def __init__(self, minutes: float) -> None:
        self.given = 0
        self.credentials = RefreshableCredentials.create_from_metadata(
            self._next(minutes), refresh_using=lambda: self._next(60), method="test"
        )

    def _next(self, minutes: float) -> dict[str, str]:
        self.given += 1
        ends = datetime.now(timezone.utc) + timedelta(minutes=minutes)  # noqa: UP017
        return {
            "access_key": f"{KNOWN.key}{self.given}", "secret_key": KNOWN.secret,
            "token": KNOWN.session, "expiry_time": ends.isoformat(),
        }  # fmt: skip


def test_a_token_outlives_its_next_renewal_also_where_the_roles_credentials_end(
    api: BedrockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token ends with the credentials that signed it. Those that end within the time that it is
    used for sign none.
    """
    role = Role(minutes=RENEWED_AFTER / 60 + 1)
    role_place = BedrockPlace(region=REGION)
    monkeypatch.setattr(
        BedrockPlace, "session", lambda _: SimpleNamespace(get_credentials=lambda: role.credentials)
    )
    token = BedrockToken(role_place).value()
    assert token is not None
    written = base64.b64decode(token.removeprefix("bedrock-api-key-")).decode()
    assert f"{KNOWN.key}2" in written
    assert f"{KNOWN.key}1%2F" not in written


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Expires=3600", "Expires=36000"),
        ("us-west-2", "us-east-1"),
        (KNOWN.key, "AKIDOFANOTHER"),
        ("CallWithBearerToken", "ListFoundationModels"),
        ("&Version=1", ""),
    ],
)
def test_the_double_refuses_a_token_that_nobody_signed(api: BedrockApi, old: str, new: str) -> None:
    value = BedrockToken(BedrockPlace(region=REGION)).value() or ""
    verify_token(f"Bearer {value}")
    written = base64.b64decode(value.removeprefix("bedrock-api-key-")).decode()
    assert old in written
    forged = base64.b64encode(written.replace(old, new).encode()).decode()
    with pytest.raises(Refused):
        verify_token(f"Bearer bedrock-api-key-{forged}")


def test_the_double_refuses_a_token_that_has_ended(api: BedrockApi) -> None:
    value = BedrockToken(BedrockPlace(region=REGION)).value()
    later = datetime.now(timezone.utc).timestamp() + 3_601  # noqa: UP017
    with pytest.raises(Refused, match="ended"):
        verify_token(f"Bearer {value}", now=later)


def test_a_server_with_a_key_needs_its_name() -> None:
    told = {"stage": "x", "powertools_service_name": "x", "chat_model": "gpt-4.1-nano"}
    with pytest.raises(ValueError, match="parameter"):
        settings.ChatSettings.model_validate(told)
    by_role = settings.ChatSettings.model_validate({**told, "models_from": "bedrock"})
    assert by_role.openai_key_parameter == ""
