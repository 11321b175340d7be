"""Nothing in the template uses more than 90 % of a limit of AWS, so that the next part still fits,
also with the choices that add most to it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from tests.infra.conftest import COLLECTOR, LARGEST, Synthesized, Template

MOST = 0.9
TEMPLATE_BYTES, RESOURCES, OUTPUTS = 1_000_000, 500, 200  # CloudFormation
ROUTES, INTEGRATIONS = 300, 300  # of an HTTP API
INLINE_POLICY, POLICY_OF_A_FUNCTION = 10_240, 20_480  # characters of a role; bytes of a function
ENVIRONMENT, LAYERS, TIMEOUT = 4_096, 5, 900  # of a function
KEY_POLICY, RESOURCE_POLICY = 32_768, 20_480  # bytes: KMS; S3, SQS and SNS take as much or more
INDEXES, DASHBOARD = 20, 100_000
DESCRIPTION_OF_A_FILTER, FILTERS = (
    4_096,
    10,
)  # of an event source: characters, and how many (raised)
ARN = (
    "arn:aws:dynamodb:ap-northeast-1:123456789012:table/Palimpsest-prod-TablesSessions12345678-ABC"
)


@pytest.fixture(params=["dev", "prod", "largest", "largest_on_bedrock"])
def template(request: pytest.FixtureRequest, with_domains: Synthesized) -> Template:
    if request.param.startswith("largest"):
        combined: Template = request.getfixturevalue(request.param)
        return combined
    found: Template = getattr(with_domains, request.param)
    return found


def test_the_largest_stack_has_a_canary_bedrock_a_domain_traces_and_a_name(
    largest: Template, largest_on_bedrock: Template
) -> None:
    assert LARGEST.keys() >= {"deploy", "models_from", "traces", "domain_name", "tags"}
    for kind in ("Lambda::Alias", "ApiGatewayV2::DomainName", "OpenSearchService::Domain"):
        assert largest.of_type(f"AWS::{kind}")
    for template in (largest, largest_on_bedrock):
        rights = json.dumps(template.statements("memories"))
        assert "bedrock:CallWithBearerToken" in rights
        assert "bedrock:Rerank" in rights
        assert template.functions()["memories"]["Environment"]["Variables"]["TRACES_ENDPOINT"]


def written(value: Any) -> int:
    """The length of a policy as AWS counts it: references as long as what they stand for."""
    return len(json.dumps(resolved(value), separators=(",", ":")))


def resolved(value: Any) -> Any:
    if isinstance(value, list):
        return [resolved(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    if set(value) <= {"Ref", "Fn::GetAtt"} and value:
        return ARN
    if "Fn::Join" in value:
        return "".join(map(str, resolved(value["Fn::Join"][1])))
    return {key: resolved(each) for key, each in value.items()}


def some(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    found = template.body["Resources"].items()
    return {name: each["Properties"] for name, each in found if each["Type"] == kind}


def test_the_template_its_resources_and_its_outputs_leave_room(template: Template) -> None:
    assert template.path.stat().st_size <= MOST * TEMPLATE_BYTES
    assert len(template.body["Resources"]) <= MOST * RESOURCES
    assert len(template.body["Outputs"]) <= MOST * OUTPUTS


def test_the_api_has_room_for_more_routes(template: Template) -> None:
    assert 0 < len(some(template, "AWS::ApiGatewayV2::Route")) <= MOST * ROUTES
    assert 0 < len(some(template, "AWS::ApiGatewayV2::Integration")) <= MOST * INTEGRATIONS


def test_what_a_role_may_do_fits_into_its_policies(template: Template) -> None:
    sizes: Counter[str] = Counter()
    for policy in some(template, "AWS::IAM::Policy").values():
        for role in policy["Roles"]:
            sizes[role["Ref"]] += written(policy["PolicyDocument"])
    assert 1_000 < max(sizes.values()) <= MOST * INLINE_POLICY


def test_who_may_call_a_function_fits_into_its_policy(template: Template) -> None:
    sizes: Counter[str] = Counter()
    for permission in some(template, "AWS::Lambda::Permission").values():
        sizes[json.dumps(permission["FunctionName"])] += written(permission) + 100
    assert 1_000 < max(sizes.values()) <= MOST * POLICY_OF_A_FUNCTION


def test_policies_of_resources_leave_room(template: Template) -> None:
    for key in some(template, "AWS::KMS::Key").values():
        assert written(key["KeyPolicy"]) <= MOST * KEY_POLICY
    for kind in ("AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy"):
        for policy in some(template, kind).values():
            assert written(policy["PolicyDocument"]) <= MOST * RESOURCE_POLICY


def test_a_function_has_room_for_another_layer_and_more_variables(template: Template) -> None:
    """A collector takes the layer that is left free, if the deployer names one."""
    for name, function in template.functions().items():
        if name == "smoke":
            continue  # it has neither
        ours = [layer for layer in function["Layers"] if layer != COLLECTOR]
        assert len(ours) <= MOST * LAYERS, name
        assert len(function["Layers"]) <= LAYERS, name
        told = function["Environment"]["Variables"]
        assert written(told) <= MOST * ENVIRONMENT
        assert function["Timeout"] <= MOST * TIMEOUT


def test_tables_have_room_for_more_indexes(template: Template) -> None:
    for table in some(template, "AWS::DynamoDB::Table").values():
        assert len(table.get("GlobalSecondaryIndexes", ())) <= MOST * INDEXES


def test_filters_of_streams_leave_room(template: Template) -> None:
    for mapping in template.mappings(streams=True):
        filters = mapping["FilterCriteria"]["Filters"]
        assert len(filters) <= MOST * FILTERS
        assert max(len(each["Pattern"]) for each in filters) <= MOST * DESCRIPTION_OF_A_FILTER


def test_the_dashboard_leaves_room(template: Template) -> None:
    (dashboard,) = some(template, "AWS::CloudWatch::Dashboard").values()
    assert written(dashboard["DashboardBody"]) <= MOST * DASHBOARD


def started_by(mapping: Mapping[str, Any], template: Template) -> str:
    """The function that an event source starts, by itself or by its alias."""
    written = json.dumps(mapping["FunctionName"])
    names = {
        f"{name.capitalize()}Function": f"{name.capitalize()}Function"
        for name in template.functions()
    }
    for name, resource in template.body["Resources"].items():
        if resource["Type"] == "AWS::Lambda::Alias":
            names[name] = str(resource["Properties"]["FunctionName"]["Ref"])
    (found,) = [function for name, function in names.items() if f'"{name}"' in written]
    return found


def test_a_function_that_sends_to_the_queue_that_starts_it_is_not_taken_for_a_loop(
    template: Template,
) -> None:
    """Lambda stops a chain of about 16 messages between a queue and a function. Each of these
    messages ends one job and lets in the next, so the chain is as long as a tenant's backlog.
    """
    own = set()
    for mapping in template.mappings(streams=False):
        function = started_by(mapping, template)
        queue = mapping["EventSourceArn"]["Fn::GetAtt"][0]
        sending = [
            statement
            for statement in template.statements(function.removesuffix("Function").lower())
            if "sqs:SendMessage" in statement["Action"]
            and queue in json.dumps(statement["Resource"])
        ]
        own |= {function} if sending else set()
    allowed = {
        name
        for name, each in some(template, "AWS::Lambda::Function").items()
        if each.get("RecursiveLoop") == "Allow"
    }
    assert own - {"DispatchFunction"} == allowed
    assert allowed == {"SummarizeFunction", "ExtractFunction", "SweepFunction"}
