"""The layers: the library and the packages it depends on, built for the stage's platform."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import layer_build
from infra.config import BUILTIN, Stage

CACHES = ["**/__pycache__", "**/*.pyc", "**/.*"]


class Layers(Construct):
    """What `every` function has; beside it `models` what calls a model or searches; `embedding` what makes vectors too:
    where the models ship with the functions, a layer holds them.
    """

    def __init__(self, scope: Construct, *, stage: Stage) -> None:
        super().__init__(scope, "Layers")
        self._stage = stage
        core = self._layer("Core", layer_build.build_core(stage.wheels))
        self.every = [core, self._built("runtime")]
        self.models = [self._built("models")]
        self.embedding = [*self.models, *([self._built("builtin")] if stage.embedding == BUILTIN else ())]

    def _built(self, name: str) -> lambda_.LayerVersion:
        return self._layer(name.capitalize(), layer_build.build(name, self._stage.wheels))

    def _layer(self, name: str, built: layer_build.BuiltLayer) -> lambda_.LayerVersion:
        code = lambda_.Code.from_asset(str(built.folder), asset_hash=built.hash)
        return lambda_.LayerVersion(
            self, name, code=code, compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
            compatible_architectures=[architecture(self._stage)],
        )  # fmt: skip


def architecture(stage: Stage) -> lambda_.Architecture:
    arm = stage.wheels.processor == "arm64"
    return lambda_.Architecture.ARM_64 if arm else lambda_.Architecture.X86_64
