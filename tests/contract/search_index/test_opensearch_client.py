"""Requests to a domain in AWS are signed; plain HTTP is for this machine."""

from __future__ import annotations

import re

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from palimpsest.engines.opensearch.client import connected, label_of
from palimpsest.engines.opensearch.index import OpenSearchIndex
from palimpsest.models.ports import Space

from tests.contract.search_index.builders import document, somebody
from tests.doubles.opensearch_api import ALIASES, OpenSearchApi, Request
from tests.doubles.owned_index import OwnedIndex


def signature_of(request: Request, host: str) -> str:
    """What AWS would compute from the request and the secret key."""
    authorization = request.headers["authorization"]
    found = re.search(r"SignedHeaders=([^,]+)", authorization)
    assert found
    headers = {name: request.headers[name] for name in found[1].split(";")}
    received = AWSRequest(
        request.method, f"http://{host}{request.path}", headers=headers, data=request.body
    )
    received.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(Credentials("test", "test"), "es", "eu-central-1")
    return str(
        signer.signature(
            signer.string_to_sign(received, signer.canonical_request(received)), received
        )
    )


def test_every_request_to_a_domain_is_signed_with_its_body() -> None:
    items = {"errors": False, "items": [{"index": {"_id": "any", "status": 201}}]}
    with OpenSearchApi({"_alias": ALIASES, "_bulk": items, "_count": {"count": 3}}) as api:
        client = connected(api.endpoint, region="eu-central-1")
        part = OwnedIndex(OpenSearchIndex(client, family="memories", space=None), somebody())
        part.write([document("a", "Zoë's café")])
        assert part.count() == 3
        assert len(api.requests) == 3
        for request in api.requests:
            authorization = request.headers["authorization"]
            assert authorization.startswith("AWS4-HMAC-SHA256 Credential=test/")
            assert "/eu-central-1/es/aws4_request" in authorization
            assert authorization.endswith(
                f"Signature={signature_of(request, request.headers['host'])}"
            )


def test_without_a_region_nothing_is_signed() -> None:
    with OpenSearchApi({"_alias": ALIASES}) as api:
        OpenSearchIndex(connected(api.endpoint), family="memories", space=None).indexes()
        assert "authorization" not in api.requests[0].headers


@pytest.mark.parametrize("endpoint", ["http://search.example.com", "http://10.0.0.1:9200"])
def test_plain_http_to_another_machine_is_refused(endpoint: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        connected(endpoint)


@pytest.mark.parametrize("family", ["", "Memories", "a.b", "-a", "a*", "a,b", "_all"])
def test_a_family_is_named_so_that_it_is_no_pattern_and_no_part_of_another(family: str) -> None:
    with pytest.raises(ValueError, match="family's name"):
        OpenSearchIndex(connected("http://127.0.0.1:1"), family=family, space=None)


def test_models_whose_names_look_alike_have_indexes_of_their_own() -> None:
    names = [
        "text-embedding-3-small",
        "text.embedding.3.small",
        "Text-Embedding-3-Small",
        "文",
        "a" * 100,
        "a" * 101,
    ]
    labels = [label_of(Space(name, 384)) for name in names]
    assert labels[0] == "text-embedding-3-small-384"
    assert len(set(labels)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*", label) for label in labels)
