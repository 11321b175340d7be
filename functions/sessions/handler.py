"""The function for sessions, messages, contexts, compactions, jobs and the tenant's settings. Every
turn of a conversation calls it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palimpsest.wiring import cold_start

cold_start.begin()  # first, because it makes the imports below faster

from palimpsest.api.app import HttpApp
from palimpsest.api.operations import operations_of
from palimpsest.wiring import deployed

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext
    from palimpsest.service.service import Service


def service() -> Service:
    return deployed.sessions_service()


app = HttpApp(service, operations_of("sessions"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return app(event, context)


cold_start.warm(app.warm)  # in init, where a function has a whole processor
