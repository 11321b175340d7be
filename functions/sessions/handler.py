"""Sessions, messages, contexts, compactions, jobs and the tenant's settings: the path that every turn takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palimpsest import bootstrap
from palimpsest.api import operations_of
from palimpsest.api.app import HttpApp
from palimpsest.bootstrap import sessions

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def use_cases() -> sessions.SessionsApp:
    return sessions.sessions_app()


app = HttpApp(use_cases, operations_of("sessions"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return app(event, context)


bootstrap.warm(app.warm)
