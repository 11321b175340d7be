"""The resources of a template that hold something which a replacement would lose, and what changes
between two releases replace them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

Resources = Mapping[str, Mapping[str, Any]]
TABLE = "AWS::DynamoDB::Table"
STATEFUL = {
    TABLE,
    "AWS::ApiGatewayV2::Api",  # its id is the address of the service
    "AWS::Events::EventBus",
    "AWS::KMS::Key",
    "AWS::Logs::LogGroup",
    "AWS::OpenSearchService::Domain",
    "AWS::S3::Bucket",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
}
KEPT = ("Type", "Properties", "DeletionPolicy", "UpdateReplacePolicy")
INDEXES = "GlobalSecondaryIndexes"


def stateful(template: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the stateful resources of a template, by their logical ids."""
    return {
        name: {part: resource[part] for part in KEPT if part in resource}
        for name, resource in sorted(template["Resources"].items())
        if resource["Type"] in STATEFUL
    }


def losses(before: Resources, after: Resources) -> Iterator[str]:
    """Yield what an update from one template to the other would lose, or what CloudFormation would
    refuse. CloudFormation's schemas name the properties that can't change.
    """
    for name, old in before.items():
        new = after.get(name)
        if new is None or new["Type"] != old["Type"]:
            yield f"{name} is removed"
            continue
        for place in fixed(old["Type"]):
            if _at(old, place) != _at(new, place):
                yield f"{name} is replaced, because its {place} changes"
        if old["Type"] == TABLE:
            yield from _index_changes(name, old["Properties"], new["Properties"])


def fixed(kind: str) -> list[str]:
    """Return the properties of a type whose change replaces the resource."""
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    names = ("createOnlyProperties", "conditionalCreateOnlyProperties")
    properties = [place for name in names for place in schema.get(name) or ()]
    return [place.removeprefix("/properties/") for place in properties]


def _at(resource: Mapping[str, Any], place: str) -> Any:
    value: Any = resource.get("Properties", {})
    for name in place.split("/"):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _index_changes(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """DynamoDB makes or removes one index in an update, and no index is ever changed."""
    before, after = (
        {index_stated["IndexName"]: index_stated for index_stated in of.get(INDEXES, ())}
        for of in (old, new)
    )
    changed = before.keys() ^ after.keys()
    if len(changed) > 1:
        yield f"{name} has {len(changed)} changes of indexes: {', '.join(sorted(changed))}"
    for index in sorted(before.keys() & after.keys()):
        if before[index] != after[index]:
            yield f"{name} changes the index {index}"
