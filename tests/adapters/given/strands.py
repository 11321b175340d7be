"""A model for Strands that says what it was sent."""

from typing import Any

from strands.models.model import Model


class SaysWhatItIsSent(Model):
    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    async def structured_output(self, *_: Any, **__: Any) -> Any:
        yield {}

    async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": str(messages)}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


model = SaysWhatItIsSent()
