"""With models of Amazon Bedrock no function has a key, and each may call the models that it uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from infra.bedrock import RERANKERS, Bedrock, arns
from infra.config import LOCAL, choices, stage_named
from tests.infra.conftest import Template, findings_of, of_one_stage

CHAT, PROFILE = "openai.gpt-oss-120b-1:0", "global.openai.gpt-6-luna"
OWN = "arn:aws:bedrock:us-west-2:1:application-inference-profile/x"
CHATTING = {"memories", "extract", "summarize"}
EMBEDDING = {"memories", "embed", "reindex"}


@pytest.fixture(scope="module")
def bedrock(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stage `dev` with every kind of model that Bedrock has for it."""
    return of_one_stage(
        tmp_path_factory.mktemp("cdk.out"), "dev", models_from="bedrock", chat_model=CHAT,
        models=PROFILE, embedding="cohere", rerank="cohere",
    )  # fmt: skip


def allowed(template: Template, action: str) -> dict[str, list[Mapping[str, Any]]]:
    """The statements that allow an action, by the functions that may do it."""
    found: dict[str, list[Mapping[str, Any]]] = {
        name: [statement for statement in template.statements(name) if action in actions(statement)]
        for name in template.functions()
    }
    return {name: statements for name, statements in found.items() if statements}


def actions(statement: Mapping[str, Any]) -> list[str]:
    listed = statement["Action"]
    return [listed] if isinstance(listed, str) else list(listed)


def models(statements: list[Mapping[str, Any]]) -> set[str]:
    """The names of the models that statements speak of, with what stands before them."""
    resources = [statement["Resource"] for statement in statements]
    flat = [
        one
        for resource in resources
        for one in (resource if isinstance(resource, list) else [resource])
    ]
    written = [
        one if isinstance(one, str) else "".join(map(str, one["Fn::Join"][1])) for one in flat
    ]
    return {one.split(":bedrock:", 1)[1] for one in written}


def test_no_function_has_a_key_or_may_read_one(bedrock: Template) -> None:
    assert allowed(bedrock, "ssm:GetParameter") == {}
    assert "OpenAiKeyParameter" not in bedrock.body["Outputs"]
    for function in bedrock.functions().values():
        variables = function["Environment"]["Variables"]
        assert variables.get("OPENAI_KEY_PARAMETER", "") == ""
        assert variables.get("MODELS_FROM", "bedrock") == "bedrock"


def test_functions_that_chat_may_use_tokens_that_they_signed_a_short_time_ago(
    bedrock: Template,
) -> None:
    found = allowed(bedrock, "bedrock:CallWithBearerToken")
    assert found.keys() == CHATTING
    for (statement,) in found.values():
        assert statement["Condition"] == {"StringEquals": {"bedrock:BearerTokenType": "SHORT_TERM"}}


def test_each_function_may_call_the_models_that_it_uses_and_no_others(bedrock: Template) -> None:
    found = allowed(bedrock, "bedrock:InvokeModel")
    assert found.keys() == CHATTING | EMBEDDING
    here = "{'Ref': 'AWS::Region'}::foundation-model/"
    mine = "{'Ref': 'AWS::Region'}:{'Ref': 'AWS::AccountId'}:inference-profile/"
    chat = {
        f"{here}{CHAT}",
        f"{mine}{PROFILE}",
        f"*::foundation-model/{PROFILE.removeprefix('global.')}",
    }
    vectors = {f"{here}cohere.embed-multilingual-v3"}
    reading = {f"{here}{RERANKERS['cohere']}"}
    assert models(found["extract"]) == models(found["summarize"]) == chat
    assert models(found["embed"]) == models(found["reindex"]) == vectors
    assert models(found["memories"]) == chat | vectors | reading
    assert allowed(bedrock, "bedrock:Rerank").keys() == {"memories"}
    everything = {
        action for name in bedrock.functions() for action in bedrock_actions(bedrock, name)
    }
    assert everything == {"bedrock:CallWithBearerToken", "bedrock:InvokeModel", "bedrock:Rerank"}


def bedrock_actions(template: Template, function: str) -> set[str]:
    every = [action for statement in template.statements(function) for action in actions(statement)]
    return {one for one in every if one.startswith("bedrock")}


def test_the_rights_to_call_models_are_accepted_each_with_its_reason(bedrock: Template) -> None:
    assert findings_of(bedrock.path.parent) == []


def test_without_the_switch_no_function_may_call_bedrock(prod: Template) -> None:
    assert [name for name in prod.functions() if bedrock_actions(prod, name)] == []
    assert "OpenAiKeyParameter" in prod.body["Outputs"]


def test_functions_with_vectors_of_bedrock_carry_no_built_in_models(bedrock: Template) -> None:
    layers = bedrock.of_type("AWS::Lambda::LayerVersion")
    assert not any("Embedding" in name for name in layers)


@pytest.mark.parametrize(
    ("model", "resources"),
    [
        ("deepseek.v3.2", ["arn:aws:bedrock:us-west-2::foundation-model/deepseek.v3.2"]),
        (
            "openai.gpt-5.6-luna",
            ["arn:aws:bedrock:us-west-2::foundation-model/openai.gpt-5.6-luna"],
        ),
        (
            "us-gov.ai21.jamba-1.5",
            [
                "arn:aws:bedrock:us-west-2:1:inference-profile/us-gov.ai21.jamba-1.5",
                "arn:aws:bedrock:*::foundation-model/ai21.jamba-1.5",
            ],
        ),
        (OWN, [OWN]),
    ],
)
def test_a_name_says_which_resources_a_call_needs(model: str, resources: list[str]) -> None:
    found = arns([model], region="us-west-2", partition="aws", account="1")
    assert list(found) == resources


def test_bedrock_has_a_chat_model_unless_one_is_named() -> None:
    assert choices({"models_from": "bedrock"}.get).chat_model == "openai.gpt-oss-20b-1:0"
    nothing: dict[str, str] = {}
    assert choices(nothing.get).bedrock == Bedrock()


@pytest.mark.parametrize(
    "context",
    [
        {"models_from": "azure"},
        {"rerank": "builtin"},
        {"models_from": "bedrock", "chat_model": "gpt-4.1-nano"},
        {"models_from": "bedrock", "models": "openai.gpt-oss-20b-1:0, gpt-4.1"},
        {"models_from": "bedrock", "openai_base_url": "https://models.example/v1"},
        {"stage": "prod", "models_from": "bedrock", "bedrock_profile": "me"},
    ],
)
def test_what_bedrock_does_not_know_is_refused(context: dict[str, str]) -> None:
    with pytest.raises(SystemExit):
        choices(context.get)


@pytest.mark.parametrize("embedding", [{"embedding": "openai"}, {"embedding_model": "bge-m3"}])
def test_a_servers_embedding_model_is_refused_where_the_server_is_bedrocks(
    embedding: dict[str, str],
) -> None:
    context = {"models_from": "bedrock", "embedding_dimension": "1024", **embedding}
    with pytest.raises(SystemExit, match="titan"):
        stage_named("prod", context.get)


def test_a_profile_of_this_machine_is_for_the_local_stage() -> None:
    context = {"stage": LOCAL, "models_from": "bedrock", "bedrock_profile": "me"}
    assert choices(context.get).bedrock.profile == "me"
