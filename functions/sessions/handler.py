"""Sessions, messages, contexts, compactions, jobs and the tenant's settings: the path that every turn takes."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest import bootstrap
from palimpsest.api.app import HttpApp
from palimpsest.api.operations import operations_of


def use_cases() -> bootstrap.SessionsApp:
    return bootstrap.sessions_app()


app = HttpApp(use_cases, operations_of("sessions"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return app(event, context)


bootstrap.warm(app.warm)
