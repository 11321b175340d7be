"""Long-term memory: what is remembered of users, saved, listed, changed, forgotten and recalled."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.api.app import HttpApp
from palimpsest.api.operations import operations_of
from palimpsest.bootstrap import memories, warm


def use_cases() -> memories.MemoriesApp:
    return memories.memories_app()


app = HttpApp(use_cases, operations_of("memories"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return app(event, context)


warm(app.warm)
