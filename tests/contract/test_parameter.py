"""A secret in the parameter store (moto in process)."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from palimpsest.engines.aws import parameters
from palimpsest.engines.aws.parameters import Parameter
from palimpsest.errors import Unavailable

NAME = "/palimpsest/test/openai-api-key"


@pytest.fixture
def store() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("ssm")


def write(store: Any, value: str) -> None:
    store.put_parameter(Name=NAME, Value=value, Type="SecureString", Overwrite=True)


def test_a_secret_is_read_in_the_clear(store: Any) -> None:
    write(store, "sk-1")
    assert Parameter(NAME).value() == "sk-1"


def test_a_secret_that_is_not_there_is_none(store: Any) -> None:
    assert Parameter(NAME).value() is None


def test_a_secret_is_kept_and_read_anew_when_its_time_is_over(store: Any) -> None:
    kept, fresh = Parameter(NAME), Parameter(NAME)
    assert kept.value() is None
    write(store, "sk-2")
    assert (kept.value(), fresh.value()) == (None, "sk-2")
    kept._stale_at -= parameters.CACHED_SECONDS
    assert kept.value() == "sk-2"


def test_a_parameter_store_that_is_not_reached_is_unavailable(
    free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", f"http://127.0.0.1:{free_port}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(Unavailable):
        Parameter(NAME).value()


def test_a_parameter_store_that_never_answers_is_unavailable_in_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parameters, "PARAMETER_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", f"http://127.0.0.1:{silent.getsockname()[1]}")
        begun = time.monotonic()
        with pytest.raises(Unavailable):
            Parameter(NAME).value()
        assert time.monotonic() - begun < 30  # the making of a client included
