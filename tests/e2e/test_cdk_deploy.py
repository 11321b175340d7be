import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import paths
from infra.app import use_bundled_node
from infra.local import access_key, ministack
from infra.operate import target
from tests.e2e.stack import PATIENCE
from tests.engines import npm
from tests.engines.loopback import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.own_stack]
CDK = npm.NODE_MODULES / "aws-cdk" / "bin" / "cdk"
STACK = "Palimpsest-local"
CONTEXT = ("-c", "stage=local", "-c", "embedding=openai", "-c", "tags=team=memory,cost=42")
"""Without the layer of the built-in models: packing it would take the command line longer than all
else.
"""


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ministack.Running]:
    """A local AWS of its own. It enforces no roles: the CDK's bucket for assets refuses plain HTTP
    where one does.
    """
    if not CDK.is_file():
        reason = "the CDK's command line is not installed"
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    monkeypatch.setenv("PALIMPSEST_LOCAL_DIR", str(tmp_path / "local"))
    process = ministack.start(free_port(), enforces_roles=False)
    try:
        ministack.wait(process)
        yield process
    finally:
        ministack.stop()


def cdk(*arguments: str, aws: ministack.Running, output: Path) -> None:
    """Run the CDK's own command line as a deployer does, on the Node that is installed with the
    project.
    """
    use_bundled_node()
    node = Path(os.environ["JSII_NODE"])
    key = access_key.read(paths.local_state())
    told = {
        "PATH": f"{node.parent}:{os.environ['PATH']}",
        "HOME": os.environ["HOME"],
        "CI": "1",
        "CDK_VALIDATION": "false",
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": key.id,
        "AWS_SECRET_ACCESS_KEY": key.secret,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    app = f"{sys.executable} -m infra.app"
    command = [str(node), str(CDK), *arguments, *CONTEXT, "--app", app, "--output", str(output)]
    done = subprocess.run(
        command,
        env=told,
        cwd=paths.PROJECT,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_plain_bootstrap_and_deploy_bring_the_service_up(
    aws: ministack.Running, tmp_path: Path
) -> None:
    cdk("bootstrap", "aws://000000000000/us-east-1", aws=aws, output=tmp_path / "cdk.out")
    said = tmp_path / "outputs.json"
    cdk(
        "deploy",
        "--require-approval",
        "never",
        "--outputs-file",
        str(said),
        aws=aws,
        output=tmp_path / "cdk.out",
    )

    outputs = json.loads(said.read_text())[STACK]
    place = target.Target(STACK, target.local_session(), aws.endpoint)
    assert outputs == place.outputs()
    tags = place.client("sqs").list_queue_tags(QueueUrl=outputs["SweepQueueUrl"])["Tags"]
    assert tags.items() >= {"team": "memory", "cost": "42", "stage": "local"}.items()
    url = f"{aws.endpoint}/_aws/execute-api/{outputs['ApiId']}/$default/v1/health"
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310
        assert answer.status == 200
