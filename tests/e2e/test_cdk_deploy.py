import hashlib
import json
import os
import re
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
OTHER = "of another release"
RUNBOOK = (paths.PROJECT / "docs" / "runbook.md").read_text(encoding="utf-8")
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


def cdk(
    *arguments: str,
    aws: ministack.Running,
    output: Path,
    app: str = f"{sys.executable} -m infra.app",
) -> None:
    """Run the CDK's own command line as a deployer does, on the Node that is installed with the
    project. `app` is a program that makes an assembly, or the folder of one.
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

    another_release(tmp_path / "cdk.out")
    assert re.search(r"^cdk deploy --app ASSEMBLY Palimpsest-prod$", RUNBOOK, re.MULTILINE)
    assembly, approved = str(tmp_path / "cdk.out"), ("--require-approval", "never")
    cdk("deploy", STACK, *approved, aws=aws, output=tmp_path / "other", app=assembly)
    functions = target.Target(STACK, target.local_session(), aws.endpoint).client("lambda")
    site = functions.get_function_configuration(FunctionName=outputs["SiteFunction"])
    assert site["Description"] == OTHER


def another_release(assembly: Path) -> None:
    """Change a template of an assembly, and the digest by which the CDK knows it."""
    template, manifest = assembly / f"{STACK}.template.json", assembly / "manifest.json"
    body = json.loads(template.read_text())
    body["Resources"]["SiteFunction"]["Properties"]["Description"] = OTHER
    template.write_text(json.dumps(body))
    (before,) = set(re.findall(r"/([0-9a-f]{64})\.json\"", manifest.read_text()))
    after = hashlib.sha256(template.read_bytes()).hexdigest()
    for file in (manifest, assembly / f"{STACK}.assets.json"):
        file.write_text(file.read_text().replace(before, after))
