"""The front door: routes, who calls, throttling and the access log."""

import json
from collections.abc import Sequence

import jsii
from aws_cdk import Duration
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.config import Choices, Stage
from infra.parts.accepted import accept
from infra.parts.python_function import log_group

TOKEN = ["$request.header.Authorization"]
CACHED = Duration.seconds(60)
ACCESS_LOG = {
    "request_id": "$context.requestId",
    "time": "$context.requestTime",
    "ip": "$context.identity.sourceIp",
    "route": "$context.routeKey",
    "status": "$context.status",
    "latency_ms": "$context.responseLatency",
    "bytes": "$context.responseLength",
    "error": "$context.error.message",
    "integration_error": "$context.integrationErrorMessage",
    "authorizer_error": "$context.authorizer.error",
}


@jsii.implements(gateway.IAccessLogSettings)
class AccessLog:
    """One JSON line a request, without what was sent."""

    def __init__(self, group: logs.ILogGroup) -> None:
        self._group = group

    @property
    def destination(self) -> gateway.IAccessLogDestination:
        return gateway.LogGroupLogDestination(self._group)

    @property
    def format(self) -> apigateway.AccessLogFormat:
        return apigateway.AccessLogFormat.custom(json.dumps(ACCESS_LOG, separators=(",", ":")))


class HttpFront(Construct):
    """An HTTP API that lets nobody in unless a route says so."""

    def __init__(self, scope: Construct, *, stage: Stage, authorizer: gateway.IHttpRouteAuthorizer) -> None:
        super().__init__(scope, "Http")
        self.api = gateway.HttpApi(
            self, "Api", api_name=f"palimpsest-{stage.name}", default_authorizer=authorizer,
            create_default_stage=False,
        )  # fmt: skip
        gateway.HttpStage(
            self, "Stage", http_api=self.api, stage_name="$default", auto_deploy=True,
            throttle=gateway.ThrottleSettings(
                rate_limit=stage.sizes.requests_per_second, burst_limit=stage.sizes.burst
            ),
            access_log_settings=AccessLog(log_group(self, "AccessLog", stage=stage)),
        )  # fmt: skip

    def route(
        self, function: lambda_.IFunction, *, paths: Sequence[str], method: gateway.HttpMethod, is_open: bool = False
    ) -> None:
        """Send those paths to the function; `is_open` ones need no key."""
        integration = integrations.HttpLambdaIntegration(f"{paths[0]}Integration", function)
        for path in paths:
            (route,) = self.api.add_routes(
                path=path, methods=[method], integration=integration,
                authorizer=gateway.HttpNoneAuthorizer() if is_open else None,
            )  # fmt: skip
            if is_open:
                accept(route, "APIG4", because="Health and documentation hold no data; their function may do nothing.")


def key_authorizer(function: lambda_.IFunction) -> gateway.IHttpRouteAuthorizer:
    """API keys of our own, looked up by the function `authorize`."""
    return authorizers.HttpLambdaAuthorizer(
        "Keys", function, identity_source=TOKEN, results_cache_ttl=CACHED,
        response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
    )  # fmt: skip


def jwt_authorizer(choices: Choices) -> gateway.IHttpRouteAuthorizer:
    """Tokens of the deployer's own issuer."""
    return authorizers.HttpJwtAuthorizer(
        "Tokens", choices.jwt_issuer, jwt_audience=list(choices.jwt_audience), identity_source=TOKEN
    )
