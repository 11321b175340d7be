"""The HTTP API: its routes, its authorizer, its throttling and its access log."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

import jsii
from aws_cdk import Duration
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra import paths
from infra.config import Choices, Stage
from infra.parts.accepted import accept
from infra.parts.python_function import log_group

DESCRIPTION = paths.LAYERS / "description" / "python" / "palimpsest_description" / "openapi.json"
OPEN = "site"
NO_DATA = "Health, documentation and problems hold no data; their function can read none."
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
    """The access log, with one JSON line for each request. It contains nothing that the caller
    sent.
    """

    def __init__(self, group: logs.ILogGroup) -> None:
        self._group = group

    @property
    def destination(self) -> gateway.IAccessLogDestination:
        return gateway.LogGroupLogDestination(self._group)

    @property
    def format(self) -> apigateway.AccessLogFormat:
        return apigateway.AccessLogFormat.custom(json.dumps(ACCESS_LOG, separators=(",", ":")))


class HttpFront(Construct):
    """An HTTP API whose routes need a key or token, unless they are declared open."""

    def __init__(
        self,
        scope: Construct,
        *,
        stage: Stage,
        key: kms.IKey | None,
        authorizer: gateway.IHttpRouteAuthorizer,
        choices: Choices,
    ) -> None:
        super().__init__(scope, "Http")
        self.domain = self._own_domain(choices)
        self.api = gateway.HttpApi(
            self, "Api", api_name=f"palimpsest-{stage.name}", default_authorizer=authorizer,
            create_default_stage=False,
        )  # fmt: skip
        # The default stage of the CDK has no throttle and no access log.
        gateway.HttpStage(
            self, "Stage", http_api=self.api, stage_name="$default", auto_deploy=True,
            throttle=gateway.ThrottleSettings(
                rate_limit=stage.sizes.requests_per_second, burst_limit=stage.sizes.burst
            ),
            access_log_settings=AccessLog(log_group(self, "AccessLog", stage=stage, key=key)),
            domain_mapping=None if self.domain is None
            else gateway.DomainMappingOptions(domain_name=self.domain),
        )  # fmt: skip

    def _own_domain(self, choices: Choices) -> gateway.DomainName | None:
        """Return the deployer's own domain name for the API, or None."""
        if not choices.domain_name:
            return None
        certificate = acm.Certificate.from_certificate_arn(self, "Certificate", choices.certificate)
        return gateway.DomainName(
            self, "Domain", domain_name=choices.domain_name, certificate=certificate
        )

    def route(self, functions: Mapping[str, lambda_.IFunction]) -> None:
        """Send every operation to the function that serves it. The operations of `site` need no
        key. A request without a route goes to `site`, which answers with a problem.
        """
        integrations_of = {
            name: integrations.HttpLambdaIntegration(f"{name.capitalize()}Integration", function)
            for name, function in functions.items()
        }
        for method, path, name in routes():
            is_open = name == OPEN
            (route,) = self.api.add_routes(
                path=path, methods=[gateway.HttpMethod(method)], integration=integrations_of[name],
                authorizer=gateway.HttpNoneAuthorizer() if is_open else None,
            )  # fmt: skip
            if is_open:
                accept(route, "APIG4", because=NO_DATA)
        other = gateway.HttpRoute(
            self, "Other", http_api=self.api, route_key=gateway.HttpRouteKey.DEFAULT,
            integration=integrations_of[OPEN], authorizer=gateway.HttpNoneAuthorizer(),
        )  # fmt: skip
        accept(other, "APIG4", because=NO_DATA)


def routes() -> Iterator[tuple[str, str, str]]:
    """Yield method, path and function of each route, from the API's description.

    The function that serves most operations of a resource, such as /v1/sessions, gets every call to
    the resource, so that it can answer calls that no operation serves. The other operations have a
    route each.
    """
    described = json.loads(DESCRIPTION.read_text())["paths"]
    serves = {
        (method.upper(), path): operation["x-function"]
        for path, methods in described.items()
        for method, operation in methods.items()
    }
    counts: dict[str, Counter[str]] = {}
    for (_, path), name in serves.items():
        counts.setdefault(_resource(path), Counter())[name] += 1
    main = {
        resource: names.most_common(1)[0][0]
        for resource, names in sorted(counts.items())
        if set(names) != {OPEN}
    }
    for resource, name in main.items():
        yield from (("ANY", resource, name), ("ANY", f"{resource}/{{proxy+}}", name))
    for (method, path), name in serves.items():
        if main.get(_resource(path)) != name:
            yield method, path, name


def _resource(path: str) -> str:
    """Return the part of the path that names its resource, such as /v1/sessions."""
    return "/".join(path.split("/")[:3])


def asking(function: lambda_.IFunction) -> gateway.IHttpRouteAuthorizer:
    """Return an authorizer that asks the function for every request, also without a credential. The
    route's own function answers refused requests. If the authorizer had a header to cache by, the
    gateway itself would answer requests without that header.
    """
    return authorizers.HttpLambdaAuthorizer(
        "Keys", function, identity_source=[], results_cache_ttl=Duration.seconds(0),
        response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
    )  # fmt: skip
