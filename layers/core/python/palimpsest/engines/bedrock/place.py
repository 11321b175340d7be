"""The region and the credentials with which models are called."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from palimpsest.errors import ModelFailed

RUNTIME, AGENTS = "bedrock-runtime", "bedrock-agent-runtime"
CONNECT_SECONDS = 1.0  # a model that can't be reached must not use up the caller's time
CONNECTIONS = 16  # as many texts are embedded at the same time, with a model of one text a call


@dataclass(frozen=True, slots=True)
class BedrockPlace:
    """The region and credentials for calls of Bedrock's models. An empty `region` is the region of
    the process. `profile` names a profile of this machine, whose credentials replace those of the
    process. `url` replaces the addresses of Bedrock's services.
    """

    region: str = ""
    profile: str = ""
    url: str = ""

    @property
    def region_name(self) -> str:
        """The name of the region. Raises `ModelFailed` if nothing names it."""
        name = self.region or self.session().region_name
        if not name:
            raise ModelFailed("No region of Bedrock is named.", code="model_refused_request")
        return str(name)

    @property
    def chat_url(self) -> str:
        """The address of the server that speaks the OpenAI API."""
        return f"{self.address(RUNTIME)}/openai/v1"

    def address(self, service: str) -> str:
        """Return the address of a service of Bedrock, without a slash at its end."""
        return self.url or f"https://{service}.{self.region_name}.amazonaws.com"

    def model_arn(self, model: str) -> str:
        region = self.region_name
        partition = self.session().get_partition_for_region(region)
        return f"arn:{partition}:bedrock:{region}::foundation-model/{model}"

    def client(self, service: str, *, seconds: float) -> Any:
        """Return a boto3 client that makes one attempt and waits `seconds` for an answer."""
        from botocore.config import Config

        config = Config(
            connect_timeout=CONNECT_SECONDS, read_timeout=seconds,
            max_pool_connections=CONNECTIONS,
            retries={"mode": "standard", "total_max_attempts": 1},
        )  # fmt: skip
        return self.session().client(
            service, region_name=self.region_name, endpoint_url=self.address(service), config=config
        )

    def session(self) -> Any:
        """Return the boto3 session with the credentials. It is made once in a process."""
        return _session(self.profile)


@cache
def _session(profile: str) -> Any:
    import boto3

    return boto3.Session(profile_name=profile or None)
