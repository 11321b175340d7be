"""With `deploy=canary`, new versions get a tenth of the calls first, and go back by themselves."""

import json
from typing import Any

import pytest

from infra.config import choices
from infra.stack import GOES_BACK_ON
from tests.infra.conftest import Synthesized, Template, findings_of, of_one_stage
from tests.infra.test_template import FUNCTIONS
from tests.releases.templates import losses, stateful

NAME = "memory.example.com"
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/1"
GROUP = "AWS::CodeDeploy::DeploymentGroup"


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Template:
    folder = tmp_path_factory.mktemp("cdk.out")
    return of_one_stage(
        folder, "prod", search="dynamodb", deploy="canary", domain_name=NAME,
        certificate=CERTIFICATE,
    )  # fmt: skip


def aliases(template: Template) -> dict[str, dict[str, Any]]:
    """The resources of aliases by the functions that they name."""
    found = {
        resource["Properties"]["FunctionName"]["Ref"].removesuffix("Function").lower(): resource
        for resource in template.body["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Alias"
    }
    assert {each["Properties"]["Name"] for each in found.values()} == {"live"}
    return found


def test_every_function_has_an_alias_that_codedeploy_shifts(canary: Template) -> None:
    policies = {name: each["UpdatePolicy"] for name, each in aliases(canary).items()}
    assert set(policies) == FUNCTIONS
    groups = canary.of_type(GROUP)
    assert len(groups) == len(FUNCTIONS)
    for name, policy in policies.items():
        shift = policy["CodeDeployLambdaAliasUpdate"]
        assert shift["BeforeAllowTrafficHook"] == {"Ref": "SmokeFunction"}, name
        assert shift["DeploymentGroupName"]["Ref"] in groups


def test_a_deployment_goes_back_on_each_of_the_alarms_that_show_a_bad_version(
    canary: Template,
) -> None:
    alarms = canary.of_type("AWS::CloudWatch::Alarm")
    for group in canary.of_type(GROUP).values():
        named = {alarm["Name"]["Ref"] for alarm in group["AlarmConfiguration"]["Alarms"]}
        assert group["AlarmConfiguration"]["Enabled"]
        assert named <= set(alarms)
        assert len(named) == len(GOES_BACK_ON)
        events = {"DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM"}
        assert group["AutoRollbackConfiguration"]["Enabled"]
        assert set(group["AutoRollbackConfiguration"]["Events"]) == events
        assert group["DeploymentConfigName"].startswith("CodeDeployDefault.LambdaCanary10Percent")


def test_whatever_calls_a_function_calls_its_alias(canary: Template) -> None:
    names = {
        name
        for name, each in canary.body["Resources"].items()
        if each["Type"] == "AWS::Lambda::Alias"
    }
    callers = {
        "AWS::Lambda::EventSourceMapping": "FunctionName",
        "AWS::ApiGatewayV2::Integration": "IntegrationUri",
        "AWS::ApiGatewayV2::Authorizer": "AuthorizerUri",
        "AWS::Events::Rule": "Targets",
    }
    for kind, place in callers.items():
        for resource in canary.of_type(kind).values():
            assert any(name in json.dumps(resource[place]) for name in names), kind
    embedded = canary.functions()["sessions"]["Environment"]["Variables"]["EMBED_FUNCTION"]
    assert any(name in json.dumps(embedded) for name in names)


def test_earlier_versions_stay_so_that_an_alias_can_go_back(canary: Template) -> None:
    versions = [
        resource
        for resource in canary.body["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Version"
    ]
    assert len(versions) == len(FUNCTIONS)
    assert {version["DeletionPolicy"] for version in versions} == {"Retain"}


def test_turning_it_on_or_off_loses_nothing_and_cdk_nag_finds_nothing(
    canary: Template, prod_on_tables: Template
) -> None:
    with_it, without = stateful(canary.body), stateful(prod_on_tables.body)
    assert list(losses(without, with_it)) == []
    assert len(set(with_it) - set(without)) == 1  # the log of the smoke test
    assert findings_of(canary.path.parent) == []


def test_the_smoke_test_may_ask_and_report_and_nothing_else(canary: Template) -> None:
    actions = {
        action
        for statement in canary.statements("smoke")
        for action in (
            [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
        )
    }
    assert actions == {
        "codedeploy:GetDeployment",
        "codedeploy:PutLifecycleEventHookExecutionStatus",
        "lambda:InvokeFunction",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
    }


def test_a_name_of_ones_own_leads_to_the_api(canary: Template) -> None:
    (domain,) = canary.of_type("AWS::ApiGatewayV2::DomainName").values()
    (configuration,) = domain["DomainNameConfigurations"]
    assert (domain["DomainName"], configuration["CertificateArn"]) == (NAME, CERTIFICATE)
    (mapping,) = canary.of_type("AWS::ApiGatewayV2::ApiMapping").values()
    assert mapping["Stage"] == "$default"
    assert "DomainTarget" in canary.body["Outputs"]
    with pytest.raises(SystemExit, match="need each other"):
        choices({"domain_name": NAME}.get)


def test_without_it_there_is_no_alias(synthesized: Synthesized) -> None:
    kinds = {resource["Type"] for resource in synthesized.prod.body["Resources"].values()}
    assert not kinds & {"AWS::Lambda::Alias", "AWS::Lambda::Version", GROUP}
