"""The tables as the stack makes them, on an engine of the tests."""

from __future__ import annotations

import time
import uuid
from functools import cache
from typing import Any

import boto3
from palimpsest.engines.dynamodb.search.index import FILTERS, VECTOR_INDEX

KEYS = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
Indexes = dict[str, tuple[str, str, str, str]]
INDEXES: Indexes = {
    "by_user": ("tenant_bucket", "S", "listed", "S"),
    "by_owner": ("job_owner", "S", "created", "S"),
    "due": ("due_shard", "S", "due_at", "N"),
}
MEMORY_INDEXES: Indexes = {
    "by_created": ("owner", "S", "created", "S"),
    "by_tenant": ("tenant_bucket", "S", "user_id", "S"),
    "due": ("due_shard", "S", "due_at", "N"),
}


def sessions_table(endpoint: str | None = None) -> str:
    """Make an empty `sessions` table under a name that was never used; returns the name."""
    return _indexed("sessions", endpoint, INDEXES)


def memories_table(endpoint: str | None = None) -> str:
    """Make an empty `memories` table likewise."""
    return _indexed("memories", endpoint, MEMORY_INDEXES)


def tenants_table(endpoint: str | None = None) -> str:
    return _made("tenants", endpoint, {})


def search_table(endpoint: str | None = None) -> str:
    """Make an empty table of words likewise."""
    return _made("search-words", endpoint, {})


def vectors_table(dimension: int, endpoint: str | None = None) -> str:
    """Make an empty table of vectors likewise, with the vector index."""
    schema = [{"AttributeName": "owner", "SearchSchemaElementType": "HASH"}]
    schema += [
        {"AttributeName": name, "SearchSchemaElementType": "INLINE_FILTER"} for name in FILTERS
    ]
    index = {
        "IndexName": VECTOR_INDEX,
        "VectorAttribute": {"AttributeName": "vector"},
        "SearchSchema": schema,
        "Projection": {"ProjectionType": "KEYS_ONLY"},
        "Dimensions": dimension,
        "DistanceFunction": "COSINE",
    }
    attributes = dict.fromkeys(("owner", *FILTERS), "S")
    name = _made("search-vectors", endpoint, attributes, VectorIndexes=[index])
    while any(
        built["IndexStatus"] != "ACTIVE"
        for built in _client(endpoint).describe_table(TableName=name)["Table"]["VectorIndexes"]
    ):
        time.sleep(0.05)
    return name


def _indexed(prefix: str, endpoint: str | None, of: Indexes) -> str:
    indexes = [
        {
            "IndexName": name,
            "KeySchema": [
                {"AttributeName": hash_name, "KeyType": "HASH"},
                {"AttributeName": range_name, "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
        for name, (hash_name, _, range_name, _) in of.items()
    ]
    attributes = {name: kind for index in of.values() for name, kind in (index[:2], index[2:])}
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    return _made(
        prefix, endpoint, attributes, GlobalSecondaryIndexes=indexes, StreamSpecification=stream
    )


def _made(prefix: str, endpoint: str | None, attributes: dict[str, str], **more: Any) -> str:
    name = f"{prefix}-{uuid.uuid4().hex[:12]}"
    _client(endpoint).create_table(
        TableName=name,
        KeySchema=KEYS,
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": kind}
            for attribute, kind in {"pk": "S", "sk": "S", **attributes}.items()
        ],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )
    return name


@cache
def _client(endpoint: str | None) -> Any:
    return boto3.client("dynamodb", endpoint_url=endpoint)
