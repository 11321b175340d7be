"""Sends changes from the tables' streams to functions, and handles failed changes."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs

NEW_JOBS = {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"type": {"S": ["job"]}}}}
NEW_MESSAGES = {
    "eventName": ["INSERT", "MODIFY"],
    "dynamodb": {"NewImage": {"type": {"S": ["message"]}}},
}
GONE_MESSAGES = {"eventName": ["REMOVE"], "dynamodb": {"OldImage": {"type": {"S": ["message"]}}}}
CHANGED_RECORDS = {
    "eventName": ["INSERT", "MODIFY"],
    "dynamodb": {"NewImage": {"type": {"S": ["record"]}, "index_state": {"S": ["pending"]}}},
}
GONE_RECORDS = {"eventName": ["REMOVE"], "dynamodb": {"OldImage": {"type": {"S": ["record"]}}}}
NEW_RECORDS = {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"type": {"S": ["record"]}}}}
MOVED_POINTERS = {"eventName": ["MODIFY"], "dynamodb": {"NewImage": {"type": {"S": ["pointer"]}}}}
NEW_COMPACTIONS = {
    "eventName": ["INSERT"],
    "dynamodb": {"NewImage": {"type": {"S": ["compaction"]}}},
}
FAILED_JOBS = {
    "eventName": ["MODIFY"],
    "dynamodb": {"NewImage": {"type": {"S": ["job"]}, "state": {"S": ["failed"]}}},
}
BATCH = 25
PARALLEL = 10
"""The number of batches of one shard that are processed at once. Lambda keeps the order of each
item's records, and no order between items is needed.
"""
RETRIES = 10


def follow(
    table: dynamodb.ITable,
    reader: lambda_.IFunction,
    *,
    filters: Sequence[Mapping[str, Any]],
    parked: sqs.IQueue,
) -> None:
    """Send the changes that pass a filter to the function, in order, each at least once. Failures
    go to `parked`.
    """
    reader.add_event_source(
        sources.DynamoEventSource(
            table,
            # The function also gets changes that were written before it began to follow the stream.
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=BATCH,
            parallelization_factor=PARALLEL,
            retry_attempts=RETRIES,
            # A record that always fails is parked alone, and the others of its batch continue.
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
            on_failure=sources.SqsDlq(parked),
            filters=[lambda_.FilterCriteria.filter(dict(pattern)) for pattern in filters],
        )
    )
