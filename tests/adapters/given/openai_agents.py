"""A model for the OpenAI Agents SDK that says that all is well."""

from typing import Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText


class Listens(Model):
    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        content: list[Any] = [
            ResponseOutputText(text="All is well.", type="output_text", annotations=[])
        ]
        message = ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=content
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


model = Listens()
