"""Starts or updates the local stack, stops it, and deletes its data."""

import json
import os
import shutil
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from infra import paths
from infra.bedrock import BEDROCK_CHAT_MODEL
from infra.config import LOCAL, Choices, stack_name
from infra.local import deploy, endpoint, ministack, search
from infra.local.endpoint import Endpoint
from infra.local.ministack import Running
from infra.local.opensearch import server as opensearch
from infra.local.processes import CannotRun
from infra.operate import openai_key, target
from infra.operate.api_keys import ApiKeys
from infra.operate.target import Target

STACK = stack_name(LOCAL)
TENANT = "local"
PORT, PORTS = 4566, 2**16
SCOPES = ("read", "write", "admin")


def start(wanted_port: str, search_engine: str) -> None:
    """Start or update the stack. Return when it answers, and leave it running.

    The port is a number in digits. "" means the port of the last start.
    """
    begun, port = time.monotonic(), _port(wanted_port)
    ministack.check_free(port)
    server = _search_server(search_engine)
    process = _started(port, search_address=server.place.address if server else "")
    assembly = deploy.assembly_of(search_engine)
    ministack.wait(process)
    if server is not None:
        opensearch.wait(server)
    _say("Deploying it")
    place = Target(STACK, target.local_session(), process.endpoint)
    outputs = deploy.deploy(assembly, STACK, session=place.session, endpoint=process.endpoint)
    deploy.complete_tables(assembly, STACK, session=place.session, endpoint=process.endpoint)
    if os.environ.get("MODELS_FROM") != "bedrock":
        openai_key.store(place, outputs, os.environ.get("OPENAI_API_KEY", ""))
    url = f"{process.endpoint}/_aws/execute-api/{outputs['ApiId']}/$default"
    key = _api_key(place, outputs["TenantsTable"])
    endpoint.write(Endpoint(url=url, api_key=key, stack=STACK, aws_endpoint=process.endpoint))
    _say("Waiting for the first answer")
    with ThreadPoolExecutor(max_workers=1) as beside:
        beside.submit(_embed_once, place, outputs)
        endpoint.wait(f"{url}/v1/health")
        endpoint.wait(f"{url}/v1/sessions?limit=1", key=key)
    _greet(url, key, seconds=time.monotonic() - begun)


def _embed_once(place: Target, outputs: Mapping[str, str]) -> None:
    """Let the built-in model make one vector, so that its function has started before the first
    context needs it. That context would not wait for it.
    """
    is_builtin = os.environ.get("EMBEDDING", "builtin") == "builtin"
    if "EmbedFunction" in outputs and is_builtin and not os.environ.get("EMBEDDING_MODEL"):
        request = json.dumps({"texts": ["Hello"], "as_questions": False})
        place.client("lambda").invoke(FunctionName=outputs["EmbedFunction"], Payload=request)


def stop() -> None:
    was_running = ministack.stop()
    search.stop()
    print(
        "The local stack has stopped; its data is kept."
        if was_running
        else "The local stack is not running."
    )


def reset(*, forgets_address: bool) -> None:
    """Stop the stack and delete its data. The next start has the same address and key, unless
    `forgets_address` is true.
    """
    last = endpoint.read()
    ministack.stop()
    search.stop()
    shutil.rmtree(paths.local_state(), ignore_errors=True)
    if last is not None and not forgets_address:
        endpoint.write(last)
    print("The local stack has stopped, and its data is deleted.")


def _port(wanted: str) -> int:
    last = endpoint.read()
    if not wanted:
        return PORT if last is None else int(last.aws_endpoint.rpartition(":")[2])
    if not (wanted.isascii() and wanted.isdigit() and 0 < int(wanted) < PORTS):
        raise CannotRun(f"PORT is a number from 1 to {PORTS - 1}, and not {wanted!r}.")
    return int(wanted)


def _search_server(search_engine: str) -> opensearch.Server | None:
    """Return the server of the stack's search domain, which is started if necessary. If the stack
    has no search domain, stop the server and return None.
    """
    if search_engine == "opensearch":
        _say("Starting OpenSearch")
        return search.start()
    search.stop()
    return None


def _started(port: int, *, search_address: str) -> Running:
    """Return the local AWS on that port: the running one, or a new one with the saved state."""
    process = ministack.running()
    if process is not None and (process.port, process.search) == (port, search_address):
        return process
    if process is not None:
        _say(
            f"Moving from port {process.port} to {port}"
            if process.port != port
            else "Restarting the local AWS"
        )
        ministack.stop()
    ministack.install()
    _say(f"Starting the local AWS on port {port}")
    return ministack.start(port, search=search_address)


def _api_key(place: Target, table: str) -> str:
    """Return the API key of the last start. If that key was revoked or has expired, return a new
    one.
    """
    keys, last = ApiKeys(place, table), endpoint.read()
    if last is not None and keys.works(last.api_key):
        return last.api_key
    # unknown after a reset
    kept = None if last is None or keys.knows(last.api_key) else last.api_key
    return keys.create(TENANT, scopes=SCOPES, label="make start", secret=kept)


def _greet(url: str, key: str, *, seconds: float) -> None:
    is_clone = (paths.PROJECT / "examples").is_dir()
    demo = "Watch a demo:       make demo\n" if is_clone else ""
    install = "'./layers/client[cli]'" if is_clone else "'palimpsest-memory[cli]'"
    print(f"""
Palimpsest is running after {seconds:.0f} s. Clients find its address and key in {endpoint.file()}.

Look at it:         {url}/v1/console
                    (key {key})
{demo}The API:            {url}/v1/docs

From Python, after pip install {install}:

    from palimpsest_client import Palimpsest
    print(Palimpsest().session("hello", user="sarah").say("I am Sarah from Marketing.").messages)

{_model_in_use()}
""")


def _model_in_use() -> str:
    """Return a sentence about the model in use, or about working without a model."""
    if os.environ.get("MODELS_FROM") == "bedrock":
        model = os.environ.get("CHAT_MODEL") or BEDROCK_CHAT_MODEL
        return f"Model: {model} of Amazon Bedrock summarises, extracts and answers."
    if not os.environ.get("OPENAI_API_KEY"):
        return (
            "No model answers: summaries and memories are the conversation's own sentences. Search "
            "by meaning works.\n"
            "With a model: OPENAI_API_KEY=... make start (OPENAI_BASE_URL and CHAT_MODEL choose "
            "another than OpenAI's)."
        )
    model = os.environ.get("CHAT_MODEL") or Choices().chat_model
    server = os.environ.get("OPENAI_BASE_URL") or "OpenAI"
    return f"Model: {model} at {server} summarises, extracts and answers."


def _say(line: str) -> None:
    print(line, flush=True)
