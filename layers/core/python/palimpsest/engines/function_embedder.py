"""Vectors from the function `embed`, for a function that does not carry the models itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from palimpsest.engines import aws
from palimpsest.errors import ModelUnavailable
from palimpsest.models.ports import Space, Vector

SECONDS = 5.0


class FunctionEmbedder:
    """Implements `Embedder`. `client` is boto3's for Lambda, made when it is first needed unless it is given."""

    def __init__(self, function: str, *, space: Space, client: Any = None) -> None:
        self._function = function
        self._space = space
        self._given = client

    @property
    def space(self) -> Space:
        return self._space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        from botocore.exceptions import BotoCoreError, ClientError

        asked = json.dumps({"texts": list(texts), "as_questions": as_questions})
        try:
            answer = self._client.invoke(FunctionName=self._function, Payload=asked.encode())
            vectors: list[Vector] = json.loads(answer["Payload"].read())["vectors"]
        except (BotoCoreError, ClientError) as error:
            raise ModelUnavailable("The function that embeds did not answer.") from error
        except (ValueError, LookupError, TypeError) as error:  # what it raised stands in the place of its answer
            raise ModelUnavailable("The function that embeds has failed.") from error
        return vectors

    @cached_property
    def _client(self) -> Any:
        return self._given or aws.client("lambda", seconds=SECONDS, attempts=1)
