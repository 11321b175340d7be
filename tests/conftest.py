"""What every test shares: how deeply Hypothesis searches, a wall around the machine, and the real
engines.
"""

import os
import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.engines import dynoxide, npm

SLOW_DATA = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile(
    "default",
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],  # on a busy machine everything is
)
settings.register_profile(
    "deep",
    max_examples=2_000,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=SLOW_DATA,
)
settings.register_profile(
    "quick", settings.get_profile("default"), max_examples=15, stateful_step_count=15
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

GENEROUS = 120  # seconds
LIMITS = {
    "palimpsest.engines.dynamodb.table.CONNECT_SECONDS": GENEROUS,
    "palimpsest.engines.dynamodb.table.READ_SECONDS": GENEROUS,
    "palimpsest.engines.bedrock.place.CONNECT_SECONDS": GENEROUS,
    "palimpsest_graph.ladybug.process.LOADING": GENEROUS,
    "palimpsest.engines.opensearch.index.BULK_SECONDS": GENEROUS,
    "palimpsest.engines.opensearch.client.SECONDS": GENEROUS,
    "palimpsest.recall.find.SEARCH_SECONDS": GENEROUS,
    "palimpsest.recall.rerank.SECONDS": GENEROUS,
    "palimpsest.context.blocks.reader.PATIENCE": GENEROUS,
    "palimpsest.context.blocks.extractive.PATIENCE": GENEROUS,
    "palimpsest.retry.PATIENCE": timedelta(seconds=GENEROUS),
}
"""How long the library waits for others. What a test waits for is there in the end, however busy
its machine is; a test of a limit itself sets that limit.
"""

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@pytest.fixture(scope="session", autouse=True)
def _wall() -> Iterator[None]:
    """No test reaches beyond loopback, and none uses the credentials of whoever runs it."""
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
            raise ConnectionRefusedError(f"a test tried to reach {address[0]}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_here)
        for name in [
            name for name in os.environ if name.startswith("AWS_") or name == "OPENAI_API_KEY"
        ]:
            patch.delenv(name)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_machine_is_too_slow() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in LIMITS.items():
            patch.setattr(name, limit)
        yield


@pytest.fixture(scope="session")
def dynoxide_endpoint() -> Iterator[str]:
    """The endpoint of a DynamoDB engine that this test session has to itself."""
    reason = dynoxide.missing()
    if reason is not None:
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    with dynoxide.running() as endpoint:
        yield endpoint
