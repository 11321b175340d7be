"""Synthesizes the stack for the local AWS, uploads its assets there, and creates or updates the
stack.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError, ProfileNotFound

from infra import layer_build, paths
from infra.config import LOCAL, Choices, stack_name
from infra.local.processes import CannotRun

BOOTSTRAP_VERSION = "/cdk-bootstrap/hnb659fds/version"
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"]
DEADLINE_SECONDS = 300  # a limit, so that it does not wait for ever
LARGE = 10_000_000
TAGS = [{"Key": "ms-custom-id", "Value": "palimpsest"}]
"""The tag from which the local AWS takes the API's id, which is a part of its address. With this
tag the id is the same after a reset.
"""
# the same time for all files, so that the same files make the same archive
EPOCH = (1980, 1, 1, 0, 0, 0)


CONTEXT = (
    "models",
    "models_from",
    "embedding",
    "embedding_model",
    "embedding_dimension",
    "rerank",
    "bedrock_region",
    "bedrock_url",
    "traces",
    "traces_share",
)
"""Parts of the CDK's context that come from environment variables. The variables have the same
names in capitals.
"""
CONTEXT_FILE = "cdk.context.json"
FOLDER, MODEL_SERVER, CHAT_MODEL = (
    "/folder-of-the-start",
    "http://model-server-of-the-start",
    "chat-model-of-the-start",
)
"""The placeholders in an assembly for values that each start fills in, so that starts with
different values can share the assembly.
"""
IN_PLACE = {"aws:cdk:disable-asset-staging": True}
"""Assets are packed from the folder in which they were built, because a copy of the layers in the
assembly would take 240 MB.
"""
MADE_OF = ("cdk.json", "functions", "infra", "layers", "requirements-infra.txt")
UNUSED_SECONDS = 7 * 24 * 3600


class DeploymentFailed(Exception):
    """The stack did not reach its new state. The message lists the resources that failed, with the
    reasons.
    """


def assembly_of(search: str) -> Path:
    """Return the assembly of the stage `local`, with the values of this start. It is made by the
    program that `cdk deploy` runs.

    `search` is a search tier, or empty for the stage's own. If an assembly was already made from
    the same files and settings, for any stack of this project, it is used again. Raises `CannotRun`
    if the stack can't be synthesized.
    """
    chosen: dict[str, Any] = {
        name: os.environ[name.upper()] for name in CONTEXT if os.environ.get(name.upper())
    }
    chosen |= context_of_start()
    filled = {"openai_base_url": MODEL_SERVER, "chat_model": CHAT_MODEL}
    if chosen.get("models_from") == "bedrock":
        filled = {"chat_model": os.environ.get("CHAT_MODEL", "")}
    if uses_bedrock():
        filled |= _profile()
    shared = _shared(json.dumps({"stage": LOCAL, "search": search, **IN_PLACE, **chosen, **filled}))
    assembly = paths.private(paths.local_state()) / "cdk.out"
    shutil.rmtree(assembly, ignore_errors=True)
    shutil.copytree(shared, assembly)
    paths.close_to_others(assembly)
    _fill_in(assembly / f"{stack_name(LOCAL)}.template.json")
    return assembly


def context_of_start() -> dict[str, Any]:
    """Return the part of the CDK's context that commands have stored for this stack."""
    file = paths.local_state() / CONTEXT_FILE
    context: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
    return context


def uses_bedrock() -> bool:
    """Return whether this start is told to use models of Amazon Bedrock."""
    named = (os.environ.get("MODELS_FROM"), os.environ.get("EMBEDDING"))
    return bool({*named} & {"bedrock", "titan", "cohere"} or os.environ.get("RERANK"))


def _profile() -> dict[str, str]:
    """Return the context that names the caller's profile, with whose credentials functions call
    Bedrock, and its region.
    """
    profile = os.environ.get("AWS_PROFILE", "default")
    try:
        region = boto3.Session(profile_name=profile).region_name
    except ProfileNotFound as error:
        raise CannotRun(f"{error} Set AWS_PROFILE to one that may call Bedrock.") from error
    region = os.environ.get("BEDROCK_REGION") or region
    if not region:
        raise CannotRun(f"The profile {profile} names no region; set BEDROCK_REGION.")
    return {"bedrock_profile": profile, "bedrock_region": region}


def _shared(context: str) -> Path:
    """Return the assembly for that context, which is synthesized unless there is one from the same
    sources. It is made as a whole or not at all. Assemblies that were not used for a week are
    removed.
    """
    made = paths.BUILD / "assemblies" / origin(context)
    if not (made.is_dir() and _is_whole(made)):
        print("Synthesizing the stack", flush=True)
        made.parent.mkdir(parents=True, exist_ok=True)
        for other in made.parent.iterdir():
            if other.stat().st_mtime < time.time() - UNUSED_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
        unfinished = Path(tempfile.mkdtemp(dir=made.parent))
        _synthesize(unfinished, context)
        shutil.rmtree(made, ignore_errors=True)
        with suppress(OSError):  # another start was faster
            unfinished.rename(made)
    os.utime(made)
    return made


def _synthesize(assembly: Path, context: str) -> None:
    context_and_output = {
        "CDK_CONTEXT_JSON": context,
        "CDK_OUTDIR": str(assembly),
        "CDK_VALIDATION": "false",
    }
    environment = os.environ | context_and_output | {"PALIMPSEST_LOCAL_DIR": FOLDER}
    command = [sys.executable, "-m", "infra.app"]
    if subprocess.run(command, env=environment, cwd=paths.PROJECT, check=False).returncode != 0:
        raise CannotRun("The stack could not be synthesized; the reason is printed above.")


def _fill_in(template: Path) -> None:
    values = {
        Path(FOLDER).as_uri(): paths.local_state().as_uri(),
        MODEL_SERVER: os.environ.get("OPENAI_BASE_URL", ""),
        CHAT_MODEL: os.environ.get("CHAT_MODEL") or Choices().chat_model,
    }
    text = template.read_text()
    for name, value in values.items():
        text = text.replace(name, json.dumps(value)[1:-1])
    template.write_text(text)


def origin(context: str) -> str:
    """Return a hash of everything from which an assembly is made."""
    digest = hashlib.sha256(f"{sys.version} {layer_build.on_this_machine()} {context}".encode())
    for source in (paths.PROJECT / name for name in MADE_OF):
        for file in [source] if source.is_file() else sorted(source.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                digest.update(f"{file} {file.stat().st_size} ".encode() + file.read_bytes())
    return digest.hexdigest()


def _is_whole(assembly: Path) -> bool:
    """Return whether every asset of the assembly exists. Layers are built outside of it, and may
    have been removed.
    """
    return all(source.exists() for source, *_ in _assets(assembly, stack_name(LOCAL)))


def deploy(assembly: Path, stack: str, *, session: boto3.Session, endpoint: str) -> dict[str, str]:
    """Create or update the stack as the assembly describes it, and return its outputs."""
    template_url = _upload(assembly, stack, session=session, endpoint=endpoint)
    ssm = session.client("ssm", endpoint_url=endpoint)
    ssm.put_parameter(Name=BOOTSTRAP_VERSION, Value="30", Type="String", Overwrite=True)
    formation = session.client("cloudformation", endpoint_url=endpoint)
    change: Any = formation.update_stack if _is_there(formation, stack) else formation.create_stack
    try:
        change(StackName=stack, TemplateURL=template_url, Capabilities=CAPABILITIES, Tags=TAGS)
    except ClientError as error:
        if "No updates are to be performed" not in str(error):
            # CloudFormation gives it no code of its own
            raise DeploymentFailed(str(error)) from error
    return _await(formation, stack)


def complete_tables(assembly: Path, stack: str, *, session: boto3.Session, endpoint: str) -> None:
    """Give the template's tables the parts that CloudFormation in the local AWS leaves out: vector
    indexes and backups.
    """
    formation = session.client("cloudformation", endpoint_url=endpoint)
    dynamodb: Any = session.client("dynamodb", endpoint_url=endpoint)
    resources = json.loads((assembly / f"{stack}.template.json").read_text())["Resources"]
    for name, resource in resources.items():
        if resource["Type"] == "AWS::DynamoDB::Table":
            resource_detail = formation.describe_stack_resource(
                StackName=stack, LogicalResourceId=name
            )
            table = resource_detail["StackResourceDetail"]["PhysicalResourceId"]
            _add_vector_indexes(dynamodb, table, resource["Properties"])
            backups = resource["Properties"].get("PointInTimeRecoverySpecification")
            if backups:
                dynamodb.update_continuous_backups(
                    TableName=table, PointInTimeRecoverySpecification=backups
                )


def _add_vector_indexes(dynamodb: Any, table: str, declared: Mapping[str, Any]) -> None:
    for index in declared.get("VectorIndexes", ()):
        if not _index_states(dynamodb, table):
            dynamodb.update_table(
                TableName=table,
                AttributeDefinitions=declared["AttributeDefinitions"],
                VectorIndexUpdates=[{"Create": index}],
            )
        while _index_states(dynamodb, table) != {"ACTIVE"}:
            time.sleep(0.1)


def _index_states(dynamodb: Any, table: str) -> set[str]:
    described = dynamodb.describe_table(TableName=table)["Table"]
    return {index["IndexStatus"] for index in described.get("VectorIndexes") or ()}


def _is_there(formation: Any, stack: str) -> bool:
    """Return whether the stack exists and can be updated. The remains of a failed creation hold no
    data, and are deleted.
    """
    try:
        (described,) = formation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError:
        return False
    if described["StackStatus"] != "ROLLBACK_COMPLETE":
        return True
    formation.delete_stack(StackName=stack)
    formation.get_waiter("stack_delete_complete").wait(
        StackName=stack, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    return False


def _upload(assembly: Path, stack: str, *, session: boto3.Session, endpoint: str) -> str:
    """Upload each missing asset to the place that the template names. Return the address of the
    template.
    """
    s3 = session.client("s3", endpoint_url=endpoint)
    account = session.client("sts", endpoint_url=endpoint).get_caller_identity()["Account"]
    template_url = ""
    for source, bucket_name, key in _assets(assembly, stack):
        bucket = bucket_name.replace("${AWS::AccountId}", account).replace(
            "${AWS::Region}", session.region_name
        )
        if not _head(s3.head_bucket, Bucket=bucket):
            s3.create_bucket(Bucket=bucket)
        # The template has another content at each start, but the same key.
        is_template = source.name == f"{stack}.template.json"
        if is_template or not _head(s3.head_object, Bucket=bucket, Key=key):
            s3.put_object(Bucket=bucket, Key=key, Body=_content(source, key))
        if is_template:
            template_url = f"{endpoint}/{bucket}/{key}"
    return template_url


def _assets(assembly: Path, stack: str) -> Iterator[tuple[Path, str, str]]:
    files = json.loads((assembly / f"{stack}.assets.json").read_text())["files"]
    for asset in files.values():
        for destination in asset["destinations"].values():
            yield (
                assembly / asset["source"]["path"],
                destination["bucketName"],
                destination["objectKey"],
            )


def _head(look: Any, **names: str) -> bool:
    try:
        look(**names)
    except ClientError:
        return False
    return True


def _content(source: Path, name: str) -> bytes:
    """Return the file, or an archive of the folder. Archives of large folders (layers) are kept,
    because packing takes seconds.
    """
    if source.is_file():
        return source.read_bytes()
    files = sorted(path for path in source.rglob("*") if path.is_file())
    if sum(file.stat().st_size for file in files) < LARGE:
        return _packed(source, files)
    archive = paths.BUILD / "archives" / name
    with paths.building():
        if not archive.is_file():
            archive.parent.mkdir(exist_ok=True)
            unfinished = archive.with_suffix(".unfinished")
            unfinished.write_bytes(_packed(source, files))
            unfinished.replace(archive)
    return archive.read_bytes()


def _packed(source: Path, files: Iterable[Path]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for file in files:
            entry = zipfile.ZipInfo(str(file.relative_to(source)), date_time=EPOCH)
            entry.external_attr = 0o644 << 16
            packed.writestr(
                entry, file.read_bytes(), compress_type=zipfile.ZIP_DEFLATED, compresslevel=1
            )
    return archive.getvalue()


def _await(formation: Any, stack: str) -> dict[str, str]:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        state = formation.describe_stacks(StackName=stack)["Stacks"][0]
        if not state["StackStatus"].endswith("IN_PROGRESS"):
            if state["StackStatus"] not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
                raise DeploymentFailed(_reasons(formation, stack))
            return {
                output["OutputKey"]: output["OutputValue"] for output in state.get("Outputs", [])
            }
        time.sleep(0.1)
    raise DeploymentFailed(f"{stack} is still changing after {DEADLINE_SECONDS} s")


def _reasons(formation: Any, stack: str) -> str:
    pages = formation.get_paginator("describe_stack_events").paginate(StackName=stack)
    failed = [
        event
        for page in pages
        for event in page["StackEvents"]
        if event["ResourceStatus"].endswith("FAILED")
    ]
    reasons = [
        f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', 'no reason')}"
        for event in failed
    ]
    return "\n".join([f"{stack} could not be deployed:", *reasons])
