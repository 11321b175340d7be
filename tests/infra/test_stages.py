import json
import re
import tarfile
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from infra import paths
from infra.app import chosen_stages, feature_flags
from tests.infra.conftest import Synthesized

VARIES_WITH_DATA = {
    "Architectures",
    "CompatibleArchitectures",
    "S3Key",  # the wheels' platform
    "DefaultRouteSettings",
    "ScalingConfig",
    "REFUSALS_ANSWERED",  # sizes
    "RetentionInDays",
    "LOG_DAYS",
    "DeletionPolicy",
    "UpdateReplacePolicy",
    "DeletionProtectionEnabled",  # retention, protection
    "SSESpecification",
    "SqsManagedSseEnabled",
    "KmsMasterKeyId",
    "KmsKeyId",
    "EncryptionAtRestOptions",  # encryption
    "BucketEncryption",
    "SEARCH_URL",
    "EMBEDDING_MODEL",
    "EMBEDDING_DIMENSION",
    "ClusterConfig",
    "EBSOptions",
    "Threshold",  # search: an alarm knows the size of the domain's storage
}
ONLY_WHERE_HTTPS = {"AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy"}
DIFFERS_BY_HTTPS = {"AWS::SNS::TopicPolicy"}
ONLY_WITH_KEY = {"AWS::KMS::Key"}
ONLY_ON_AWS = {"AWS::Budgets::Budget"}
EMPTIES = "Custom::S3AutoDeleteObjects"
EMPTIES_BUCKET = "CustomS3AutoDeleteObjects"
"""How the names of the resources begin that empty a bucket before it goes: dev alone has them."""


def shape(resource: Any, *, stage: str) -> Any:
    """A resource without what may differ and without the stage's name."""
    if isinstance(resource, dict):
        return {
            key: shape(value, stage=stage)
            for key, value in resource.items()
            if key not in VARIES_WITH_DATA | {"Metadata"}
        }
    if isinstance(resource, list):
        return [
            shape(each, stage=stage)
            for each in resource
            if not (is_about_a_key(each) or is_about_emptying(each))
        ]
    return plain(resource, stage=stage) if isinstance(resource, str) else resource


def plain(text: str, *, stage: str) -> str:
    """Without the stage's name, and a logical id without its hashes, which the name is part of."""
    hashless = re.sub(r"(?<=[a-z])[0-9A-F]{8,16}(?=$|Permission)", "", text)
    return re.sub(rf"{stage}\b|(?<=Palimpsest){stage}", "STAGE", hashless)


def is_about_a_key(statement: Any) -> bool:
    return isinstance(statement, dict) and "kms:" in json.dumps(statement.get("Action", ""))


def is_about_emptying(tag: Any) -> bool:
    return isinstance(tag, dict) and tag.get("Key") == "aws-cdk:auto-delete-objects"


def is_of_one_stage(name: str, kind: str) -> bool:
    some = ONLY_WHERE_HTTPS | DIFFERS_BY_HTTPS | ONLY_WITH_KEY | ONLY_ON_AWS | {EMPTIES}
    return kind in some or name.startswith(EMPTIES_BUCKET)


def resources(synthesized: Synthesized, stage: str) -> dict[str, Any]:
    body = getattr(synthesized, stage).body["Resources"]
    return {
        plain(name, stage=stage): shape(each, stage=stage)
        for name, each in body.items()
        if not is_of_one_stage(name, each["Type"])
    }


@pytest.mark.parametrize("stage", ["local", "dev"])
def test_a_stage_differs_from_prod_only_by_the_listed_data(
    with_domains: Synthesized, stage: str
) -> None:
    assert resources(with_domains, stage) == resources(with_domains, "prod")


def test_the_local_stage_alone_accepts_plain_http(with_domains: Synthesized) -> None:
    kinds = {
        stage: {
            resource["Type"] for resource in getattr(with_domains, stage).body["Resources"].values()
        }
        for stage in ("local", "dev", "prod")
    }
    assert kinds["prod"] - kinds["local"] == ONLY_WHERE_HTTPS | ONLY_WITH_KEY | ONLY_ON_AWS
    assert kinds["prod"] - kinds["dev"] == ONLY_WITH_KEY
    assert kinds["dev"] - kinds["prod"] == {EMPTIES}
    assert kinds["local"] <= kinds["dev"]


def test_only_prod_protects_its_data(synthesized: Synthesized) -> None:
    for stage in ("local", "dev", "prod"):
        template = getattr(synthesized, stage)
        is_prod = stage == "prod"
        for table in (
            resource
            for resource in template.body["Resources"].values()
            if resource["Type"] == "AWS::DynamoDB::Table"
        ):
            assert table["DeletionPolicy"] == ("Retain" if is_prod else "Delete")
            assert table["Properties"]["DeletionProtectionEnabled"] is is_prod


def test_what_prod_keeps_is_removed_again_if_its_first_deployment_fails_but_not_its_tables(
    synthesized: Synthesized,
) -> None:
    kept = [
        (resource["Type"], resource["DeletionPolicy"])
        for resource in synthesized.prod.body["Resources"].values()
        if resource.get("DeletionPolicy", "Delete") != "Delete"
    ]
    protected = ("AWS::DynamoDB::Table", "Retain")  # an attempt to delete these would fail
    assert {kind for kind, _ in kept} == {
        "AWS::DynamoDB::Table",
        "AWS::KMS::Key",
        "AWS::Logs::LogGroup",
        "AWS::S3::Bucket",
    }
    assert {policy for policy in kept if policy != protected} == {
        (kind, "RetainExceptOnCreate") for kind, _ in kept if kind != protected[0]
    }
    left = [kind for kind in kept if kind == protected]
    page = (paths.PROJECT / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert len(left) == 3
    assert "removes what it has made, except the three tables" in page


def test_a_stage_on_aws_that_keeps_nothing_empties_its_bucket_before_it_goes(
    synthesized: Synthesized,
) -> None:
    emptied = {
        name: any(
            resource["Type"] == EMPTIES
            for resource in getattr(synthesized, name).body["Resources"].values()
        )
        for name in ("local", "dev", "prod")
    }
    assert emptied == {"local": False, "dev": True, "prod": False}


def test_every_function_logs_into_a_group_of_its_stack_and_can_make_no_other(
    synthesized: Synthesized,
) -> None:
    """Lambda would make a group outside the stack, which never expires and outlives it."""
    for stage in ("local", "dev", "prod"):
        found = getattr(synthesized, stage).body["Resources"]
        functions = [each for each in found.values() if each["Type"] == "AWS::Lambda::Function"]
        groups = [each["Properties"]["LoggingConfig"]["LogGroup"]["Ref"] for each in functions]
        assert {found[group]["Type"] for group in groups} == {"AWS::Logs::LogGroup"}
        assert len(set(groups)) == len(functions)
        assert all("RetentionInDays" in found[group]["Properties"] for group in groups)
        rights = [each for each in found.values() if each["Type"].startswith("AWS::IAM::")]
        assert "AWSLambdaBasicExecutionRole" not in json.dumps(rights)
        assert "logs:CreateLogGroup" not in json.dumps(rights)


def test_what_goes_to_aws_is_not_the_local_stage_unless_it_is_named() -> None:
    assert chosen_stages(None) == ["dev", "prod"]
    assert chosen_stages("local") == ["local"]


DECLINED = {
    "@aws-cdk/aws-lambda:recognizeLayerVersion": "It sorts layers; ours are in the order in which "
    "they count.",
    "@aws-cdk/aws-iam:minimizePolicies": "It merges grants; each is read and tested as its own "
    "statement.",
}


def test_every_flag_that_the_cdk_recommends_is_set_but_those_we_decline() -> None:
    recommended = _recommended_flags()
    assert feature_flags() == recommended | dict.fromkeys(DECLINED, False)
    assert all(recommended[name] is True for name in DECLINED), (
        "a flag is declined that nobody recommends"
    )


def _recommended_flags() -> dict[str, Any]:
    """Those of the CDK that is installed, out of the archive it comes in."""
    found = util.find_spec("aws_cdk")
    assert found is not None
    assert found.origin is not None
    (archive,) = Path(found.origin).parent.glob("_jsii/aws-cdk-lib*.tgz")
    with tarfile.open(archive, "r|gz") as packed:  # a stream: the file stands near the beginning
        for member in packed:
            if member.name.endswith("/recommended-feature-flags.json"):
                content = packed.extractfile(member)
                assert content is not None
                flags: dict[str, Any] = json.load(content)
                return flags
    raise AssertionError("the CDK names no recommended flags")
