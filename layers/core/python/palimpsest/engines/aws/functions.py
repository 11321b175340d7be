"""Vectors from another function (Lambda)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from palimpsest import tracing
from palimpsest.engines.aws.client import client
from palimpsest.errors import ModelUnavailable
from palimpsest.models.ports import Space, Vector


class FunctionEmbedder:
    """Implements `Embedder` for Lambda functions that carry no model. The Lambda function named
    `function` computes the vectors. `client` is a boto3 client for Lambda; without one, a client is
    made on first use.
    """

    def __init__(self, function: str, *, space: Space, client: Any = None) -> None:
        self._function = function
        self._space = space
        self._given = client

    @property
    def space(self) -> Space:
        return self._space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        from botocore.exceptions import BotoCoreError, ClientError

        request: dict[str, Any] = {"texts": list(texts), "as_questions": as_questions}
        if trace := tracing.current():
            request[tracing.HEADER] = trace
        payload = json.dumps(request).encode()
        try:
            answer = self._client.invoke(FunctionName=self._function, Payload=payload)
            vectors: list[Vector] = json.loads(answer["Payload"].read())["vectors"]
        except (BotoCoreError, ClientError) as error:
            raise ModelUnavailable("The function that embeds did not answer.") from error
        except (ValueError, LookupError, TypeError) as error:
            # the function failed, so the answer is its error
            raise ModelUnavailable("The function that embeds has failed.") from error
        return vectors

    @cached_property
    def _client(self) -> Any:
        return self._given or client("lambda", seconds=5.0, attempts=1)
