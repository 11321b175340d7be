import ast
import importlib
import inspect
import json
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from palimpsest.models.builtin import SPACE
from palimpsest.settings import BY_FUNCTION

from infra import paths
from infra.config import (
    BUILTIN,
    LOG_DAYS,
    STAGES,
    TABLES,
    Embedding,
    Given,
    choices,
    chosen_by,
    context_flags,
    stage_named,
    tables_context,
)
from infra.parts.python_function import LOG_RETENTION
from tests.infra.conftest import Synthesized, Template


def test_cdk_nag_finds_nothing_that_is_not_accepted_with_a_reason(
    synthesized: Synthesized, with_domains: Synthesized
) -> None:
    assert synthesized.findings == with_domains.findings == []


def test_cfn_lint_finds_nothing(synthesized: Synthesized, with_domains: Synthesized) -> None:
    differing = (
        synthesized.local,
        synthesized.prod,
        with_domains.dev,
    )  # others have nothing more: see test_stages.py
    templates = [str(each.path) for each in differing]
    ignored = [
        "-i",
        "W3005",
        "E3039",
    ]  # a dependency that the CDK states twice; attributes of a vector index
    lint = [str(Path(sys.executable).with_name("cfn-lint")), *ignored, "-t", *templates]
    done = subprocess.run(lint, check=False, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("function", sorted(BY_FUNCTION))
def test_a_function_is_told_exactly_what_its_settings_read(prod: Template, function: str) -> None:
    told = prod.functions()[function]["Environment"]["Variables"]
    assert set(told) == {name.upper() for name in BY_FUNCTION[function].model_fields}


def test_callers_may_name_the_configured_model_and_those_of_the_operators_list(
    prod: Template, with_models: Template
) -> None:
    for function in ("sessions", "memories", "summarize"):
        assert prod.functions()[function]["Environment"]["Variables"]["MODELS"] == "gpt-4.1-nano"
        assert (
            with_models.functions()[function]["Environment"]["Variables"]["MODELS"]
            == "gpt-4.1,gpt-4.1-mini"
        )


ROUTE = "AWS::ApiGatewayV2::Route"


def test_tokens_of_an_issuer_take_the_place_of_keys(tmp_path: Path) -> None:
    from aws_cdk import App, assertions

    from infra.config import Choices
    from infra.stack import Palimpsest

    told = Choices(jwt_issuer="https://issuer.example", jwt_audience=("palimpsest", "other"))
    stack = Palimpsest(App(outdir=str(tmp_path)), stage=stage_named("dev"), choices=told)
    template = assertions.Template.from_stack(stack)
    functions = template.find_resources("AWS::Lambda::Function")
    authorize, site = (functions[f"{name}Function"]["Properties"] for name in ("Authorize", "Site"))
    for function in (authorize, site):
        assert function["Environment"]["Variables"]["JWT_ISSUER"] == "https://issuer.example"
    assert authorize["Environment"]["Variables"]["JWT_AUDIENCE"] == "palimpsest,other"
    plain = functions["DispatchFunction"]["Properties"]
    assert (
        len(authorize["Layers"]) == len(plain["Layers"]) + 1
    )  # what checks tokens, and only there
    assert (
        sum(
            authorize["Layers"][-1] in each["Properties"].get("Layers", ())
            for each in functions.values()
        )
        == 1
    )
    policies = template.find_resources("AWS::IAM::Policy")
    (allowed,) = (
        each["Properties"] for name, each in policies.items() if name.startswith("AuthorizeRole")
    )
    assert "dynamodb" not in json.dumps(allowed)  # it sees no key
    (authorizer,) = template.find_resources("AWS::ApiGatewayV2::Authorizer").values()
    assert (
        authorizer["Properties"]["AuthorizerType"],
        authorizer["Properties"]["IdentitySource"],
    ) == ("REQUEST", [])
    asked = {
        resource["Properties"]["AuthorizationType"]
        for resource in template.find_resources(ROUTE).values()
    }
    assert asked == {"NONE", "CUSTOM"}


@pytest.mark.parametrize(
    "context",
    [
        {"auth": "none"},
        {"auth": "jwt"},
        {"auth": "jwt", "issuer": "https://issuer.example"},
        {"auth": "jwt", "issuer": "http://issuer.example", "audience": "palimpsest"},
    ],
)
def test_a_choice_that_would_let_everybody_in_is_refused(context: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="auth"):
        choices(context.get)


@pytest.mark.parametrize(
    ("stage", "context"),
    [
        ("local", {"search": "elastic"}),
        ("dev", {"search": "embedded"}),
        ("prod", {"search": "embedded"}),
        ("prod", {"embedding": "minilm"}),
        (
            "prod",
            {
                "embedding": "builtin",
                "embedding_model": "nomic-embed-text",
                "embedding_dimension": "768",
            },
        ),
        ("prod", {"embedding_model": "bge-small-en-v1.5-int8", "embedding_dimension": "384"}),
        ("prod", {"embedding_model": "nomic-embed-text"}),
        ("prod", {"embedding_model": "nomic-embed-text", "embedding_dimension": "many"}),
        ("moon", {}),
    ],
)
def test_a_search_that_a_stage_cannot_have_is_refused(stage: str, context: dict[str, Any]) -> None:
    with pytest.raises(SystemExit):
        stage_named(stage, context.get)


def test_a_budget_is_a_whole_number_of_dollars() -> None:
    assert choices({"budget_usd": "0"}.get).budget_usd == 0
    with pytest.raises(SystemExit, match="budget_usd"):
        choices({"budget_usd": "much"}.get)


def test_logs_are_kept_as_long_as_the_deployer_says() -> None:
    assert stage_named("prod", {"log_days": "30"}.get).log_days == 30
    assert {stage_named(name).log_days for name in STAGES} <= set(LOG_DAYS) == set(LOG_RETENTION)
    with pytest.raises(SystemExit, match="log_days"):
        stage_named("prod", {"log_days": "31"}.get)


def test_a_stack_that_keeps_data_is_protected_until_the_deployer_gives_the_data_up(
    synthesized: Synthesized, tmp_path: Path
) -> None:
    from aws_cdk import App, assertions

    from infra.config import Choices
    from infra.stack import Palimpsest

    given_up = stage_named("prod", {"keep_data": "no", "search": "none"}.get)
    stack = Palimpsest(App(outdir=str(tmp_path)), stage=given_up, choices=Choices())
    assert not stack.termination_protection
    stacks = {name: getattr(synthesized, name) for name in STAGES}
    protected = {name for name in STAGES if told_of(stacks[name])["terminationProtection"]}
    assert protected == {"prod"}
    found = assertions.Template.from_stack(stack).to_json()["Resources"].values()
    assert {each.get("DeletionPolicy", "Delete") for each in found} == {"Delete"}
    tables = [each for each in found if each["Type"] == "AWS::DynamoDB::Table"]
    assert not any(table["Properties"]["DeletionProtectionEnabled"] for table in tables)
    assert stage_named("prod").keeps_data
    with pytest.raises(SystemExit, match="keep_data"):
        stage_named("prod", {"keep_data": "perhaps"}.get)


def test_the_stack_says_the_choices_of_its_deployer(prod_on_tables: Template) -> None:
    assert prod_on_tables.body["Outputs"]["Choices"]["Value"] == "-c search=dynamodb -c stage=prod"


def test_choices_are_repeated_word_by_word_and_restored_tables_are_not_among_them() -> None:
    context = {
        "stage": "dev,prod",
        "models": "gpt-4.1, gpt-4.1-mini",
        "budget_usd": 0,
        "deploy": "",
        "nobody_reads": "this",
        tables_context("prod"): {name: {"name": name} for name in TABLES},
    }
    given = Given(context.get)
    assert stage_named("prod", given).restored
    choices(given)
    flags = shlex.split(given.flags("prod"))
    assert flags == ["-c", "budget_usd=0", "-c", "models=gpt-4.1, gpt-4.1-mini", "-c", "stage=prod"]
    assert shlex.split(context_flags(chosen_by(flags))) == flags
    again = chosen_by([*flags, "budget_usd=7"])
    assert choices(again.get) == replace(choices(context.get), budget_usd=7)


def told_of(template: Template) -> dict[str, Any]:
    """What the CDK's command line tells CloudFormation about the stack of a template."""
    artifacts = json.loads((template.path.parent / "manifest.json").read_text())["artifacts"]
    properties: dict[str, Any] = artifacts[template.path.name.split(".")[0]]["properties"]
    return properties


def test_search_and_its_model_follow_the_stage_unless_told() -> None:
    told = stage_named(
        "prod", {"search": "none", "embedding_model": "bge-m3", "embedding_dimension": "1024"}.get
    )
    assert (told.search, told.embedding) == ("none", Embedding("bge-m3", 1_024))
    assert [stage_named(name).search for name in ("local", "dev", "prod")] == [
        "embedded",
        "dynamodb",
        "opensearch",
    ]


def test_vectors_need_no_key_unless_the_deployer_chooses_a_server() -> None:
    assert {stage_named(name).embedding for name in ("local", "dev", "prod")} == {BUILTIN}
    assert (SPACE.model, SPACE.dimension) == (BUILTIN.model, BUILTIN.dimension)
    assert stage_named("prod", {"embedding": "openai"}.get).embedding == Embedding(
        "text-embedding-3-small", 1_536
    )
    told = {"embedding": "openai", "embedding_model": "bge-m3", "embedding_dimension": "1024"}
    assert stage_named("prod", told.get).embedding == Embedding("bge-m3", 1_024)


def test_choices_left_out_have_their_defaults() -> None:
    told = choices({"openai_base_url": "http://127.0.0.1:11434/v1", "chat_model": ""}.get)
    assert (told.openai_base_url, told.chat_model, told.jwt_issuer) == (
        "http://127.0.0.1:11434/v1", "gpt-4.1-nano", "",
    )  # fmt: skip


def test_types_are_checked_with_all_of_the_cdk_that_is_used_and_its_base_classes() -> None:
    """Of the CDK mypy leaves the rest out: what is missing here would be checked no longer, without
    a word.
    """
    project = tomllib.loads((paths.PROJECT / "pyproject.toml").read_text())
    read = next(
        override
        for override in project["tool"]["mypy"]["overrides"]
        if override.get("follow_imports") == "normal"
    )
    files = [*(paths.PROJECT / "infra").rglob("*.py"), *Path(__file__).parent.glob("*.py")]
    used = {name for file in files for name in cdk_modules(ast.parse(file.read_text()))}
    based = {
        base.__module__
        for name in used
        for member in vars(importlib.import_module(name)).values()
        if inspect.isclass(member)
        for base in member.__mro__
        if base.__module__.startswith("aws_cdk")
    }
    assert (
        {"aws_cdk.aws_lambda", "aws_cdk.interfaces.aws_sqs"} <= used | based <= set(read["module"])
    )


def cdk_modules(tree: ast.AST) -> Iterator[str]:
    """The modules of the CDK that a file imports, also those whose names are imported from the
    package.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aws_cdk"):
            named = [f"{node.module}.{alias.name}" for alias in node.names if alias.name.islower()]
            yield from named if node.module == "aws_cdk" and named else [str(node.module)]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("aws_cdk"))
