"""Long-term memory: what is remembered of users, saved, listed, changed, forgotten and recalled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palimpsest.wiring import cold_start

cold_start.begin()

from palimpsest.api.app import HttpApp
from palimpsest.api.operations import operations_of
from palimpsest.wiring import memories

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def use_cases() -> memories.MemoriesApp:
    return memories.memories_app()


app = HttpApp(use_cases, operations_of("memories"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return app(event, context)


cold_start.warm(app.warm)
