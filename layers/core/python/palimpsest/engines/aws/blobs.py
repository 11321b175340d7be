"""Large contents in a bucket (S3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from palimpsest.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
from palimpsest.engines.aws.client import answering, client

KEYS_AT_ONCE = 1_000  # keys in one DeleteObjects, and on one page of a list (S3)


class S3Blobs:
    """Implements `Blobs` over one S3 bucket. It connects on first use, so that requests without
    large contents load no client. Safe to use from many threads.
    """

    def __init__(self, bucket: str, *, endpoint: str | None = None) -> None:
        self._bucket = bucket
        self._endpoint = endpoint

    def put(self, key: str, data: bytes) -> None:
        with answering("The bucket"):
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=data)

    def get(self, key: str) -> bytes | None:
        with answering("The bucket"):
            try:
                return self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
            except self._s3.exceptions.NoSuchKey:
                return None

    def keys(self, prefix: str, *, first: str = "") -> Iterator[str]:
        pages = self._s3.get_paginator("list_objects_v2")
        answers = pages.paginate(
            Bucket=self._bucket,
            Prefix=prefix,
            StartAfter=prefix + first,
            PaginationConfig={"PageSize": KEYS_AT_ONCE},
        )
        with answering("The bucket"):
            for page in answers:
                yield from (stored["Key"] for stored in page.get("Contents", ()))

    def remove(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), KEYS_AT_ONCE):
            named = [{"Key": key} for key in keys[start : start + KEYS_AT_ONCE]]
            with answering("The bucket"):
                removal: Any = {"Objects": named, "Quiet": True}
                answer = self._s3.delete_objects(Bucket=self._bucket, Delete=removal)
            if answer.get("Errors"):
                raise Unavailable("The bucket did not remove everything; try again.")

    def link(self, key: str, *, seconds: int) -> str:
        with answering("The bucket"):
            place = {"Bucket": self._bucket, "Key": key}
            return self._s3.generate_presigned_url("get_object", Params=place, ExpiresIn=seconds)

    @cached_property
    def _s3(self) -> S3Client:
        made: S3Client = client(
            "s3", seconds=10.0, attempts=3, endpoint=self._endpoint, signature_version="s3v4",
            s3={"addressing_style": "path"},  # a local AWS has no host name for each bucket
        )  # fmt: skip
        return made
