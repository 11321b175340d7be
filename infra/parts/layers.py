"""The layers: the library and the packages it depends on, built for the stage's platform."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import layer_build
from infra.config import BUILTIN, Stage
from infra.traces import Traces

CACHES = ["**/__pycache__", "**/*.pyc", "**/.*"]


class Layers(Construct):
    """The layers by their use.

    All functions have `every`. Functions that call a model or search have `models`. Functions that
    make vectors with the models that ship with them have `embedding` instead, which contains both.
    `graph` is for queries of knowledge graphs, and `tokens` for the check of an issuer's tokens.
    `console` and `description` are for pages. `client` is for agents that run in Lambda.
    `collector` is for functions that send spans, if the deployer names a layer with a collector.
    """

    def __init__(self, scope: Construct, *, stage: Stage, traces: Traces) -> None:
        super().__init__(scope, "Layers")
        self._stage = stage
        is_local = stage.search == "embedded"  # a file that functions on one machine share
        core = self._layer("Core", layer_build.build_core(stage.wheels, is_local=is_local))
        self.every = [core, self._runtime(traces)]
        self.collector: list[lambda_.ILayerVersion] = []
        if traces.sink and traces.layer:
            layer = lambda_.LayerVersion.from_layer_version_arn(self, "Collector", traces.layer)
            self.collector = [layer]
        self.models = [self._built("models")]
        client = layer_build.build("client", stage.wheels)  # without compiled code
        pythons = [
            lambda_.Runtime.PYTHON_3_11,
            lambda_.Runtime.PYTHON_3_12,
            lambda_.Runtime.PYTHON_3_13,
        ]
        self.client = lambda_.LayerVersion(
            self, "Client", code=code_of(client), compatible_runtimes=pythons
        )
        self.graph = [self._built("graph")]
        self.pages = [self._built("console"), self._built("description")]
        self.embedding = self.models
        if stage.embedding == BUILTIN:
            together = layer_build.build_together(("models", "builtin"), stage.wheels)
            self.embedding = [self._layer("Embedding", together)]

    def _runtime(self, traces: Traces) -> lambda_.LayerVersion:
        """Return the layer of the packages that every function needs. If the stack traces, the
        library for it is in the same layer, because a function has at most five.
        """
        if not traces.sink:
            return self._built("runtime")
        together = layer_build.build_together(("runtime", "traces"), self._stage.wheels)
        return self._layer("Runtime", together)

    def tokens(self) -> list[lambda_.LayerVersion]:
        """Return the layer that checks tokens. Only a stack that accepts tokens has it. Call this
        once.
        """
        return [self._built("tokens")]

    def _built(self, name: str) -> lambda_.LayerVersion:
        return self._layer(name.capitalize(), layer_build.build(name, self._stage.wheels))

    def _layer(self, name: str, built: layer_build.BuiltLayer) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self, name, code=code_of(built), compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
            compatible_architectures=[architecture(self._stage)],
        )  # fmt: skip


def code_of(built: layer_build.BuiltLayer) -> lambda_.Code:
    return lambda_.Code.from_asset(str(built.folder), asset_hash=built.hash)


def architecture(stage: Stage) -> lambda_.Architecture:
    arm = stage.wheels.processor == "arm64"
    return lambda_.Architecture.ARM_64 if arm else lambda_.Architecture.X86_64
