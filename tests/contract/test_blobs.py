"""The contract of `Blobs`: what an item can't hold, by key."""

import uuid
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from moto import mock_aws
from palimpsest.conversations.ports import Blobs
from palimpsest.engines.aws.blobs import S3Blobs
from palimpsest.errors import Unavailable
from palimpsest_local.stores.vectors import LocalBlobs


@pytest.fixture(params=["in_memory", "moto"])
def blobs(request: pytest.FixtureRequest) -> Iterator[Blobs]:
    if request.param == "in_memory":
        yield LocalBlobs()
        return
    with mock_aws():
        name = f"contents-{uuid.uuid4().hex}"
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=name)
        yield S3Blobs(name)


@pytest.fixture(autouse=True)
def _in_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


def test_what_is_put_is_read_back_byte_for_byte(blobs: Blobs) -> None:
    data = bytes(range(256)) * 20_000  # five megabytes
    blobs.put("contents/a@b|c=d+e:f/s/000000000001-x", data)
    assert blobs.get("contents/a@b|c=d+e:f/s/000000000001-x") == data
    assert blobs.get("contents/a@b|c=d+e:f/s/000000000001-y") is None


def test_keys_come_in_order_from_a_place_on_and_of_one_prefix_alone(blobs: Blobs) -> None:
    for key in ("p/3-a", "p/1-a", "p/2-b", "p/2-a", "p.x/1-a", "pp/1-a"):
        blobs.put(key, b"-")
    assert list(blobs.keys("p/")) == ["p/1-a", "p/2-a", "p/2-b", "p/3-a"]
    assert list(blobs.keys("p/", first="2")) == ["p/2-a", "p/2-b", "p/3-a"]
    assert list(blobs.keys("none/")) == []


def test_more_keys_than_a_page_holds_are_listed_and_removed(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.engines.aws.blobs.KEYS_AT_ONCE", 10)
    for number in range(23):
        blobs.put(f"p/{number:06d}", b"-")
    blobs.put("q/1", b"stays")
    found = list(blobs.keys("p/"))
    assert len(found) == 23
    blobs.remove(found)
    blobs.remove(found)
    assert list(blobs.keys("p/")) == []
    assert blobs.get("q/1") == b"stays"


def test_a_link_names_its_key_and_ends(blobs: Blobs) -> None:
    blobs.put("exports/a b", b"-")
    link = blobs.link("exports/a b", seconds=60)
    assert "exports/a%20b" in link
    assert "60" in link


def test_a_link_is_signed_for_its_region_in_the_form_that_encrypted_objects_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S3 refuses another signature for an object that is encrypted with a key of KMS."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        link = urlsplit(S3Blobs("contents").link("exports/1", seconds=60))
    assert (link.netloc, link.path) == ("s3.eu-central-1.amazonaws.com", "/contents/exports/1")
    query = parse_qs(link.query)
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert "/eu-central-1/s3/aws4_request" in query["X-Amz-Credential"][0]
    assert query["X-Amz-Expires"] == ["60"]


def test_a_bucket_that_is_not_there_is_unavailable_and_not_empty() -> None:
    with mock_aws():
        lost = S3Blobs("no-such-bucket")
        for ask in (
            lambda: lost.get("k"),
            lambda: lost.put("k", b""),
            lambda: list(lost.keys("k")),
        ):
            with pytest.raises(Unavailable):
                ask()
