"""Calls of Bedrock's own API. Its errors are translated into those of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from palimpsest.errors import ModelFailed, ModelUnavailable
from palimpsest.models.openai.client import SERVER_ERRORS, TRANSIENT, retry_after

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

MODEL_FAILED = 424  # the model behind Bedrock did not answer


@contextmanager
def asking() -> Iterator[None]:
    """Raise `ModelUnavailable` or `ModelFailed` if a call of Bedrock in this context fails."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        raise _translated(error) from error
    except BotoCoreError as error:
        raise ModelUnavailable("Bedrock can't be reached or took too long.") from error


def _translated(error: ClientError) -> ModelFailed:
    metadata: Mapping[str, Any] = error.response.get("ResponseMetadata", {})
    status = int(metadata.get("HTTPStatusCode", 0))
    if status in TRANSIENT or status == MODEL_FAILED or status >= SERVER_ERRORS:
        wait = retry_after(metadata.get("HTTPHeaders", {}))
        return ModelUnavailable(f"Bedrock answered {status}.", retry_after=wait)
    return ModelFailed(f"Bedrock refused the request with {status}.", code="model_refused_request")
