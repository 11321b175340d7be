"""Runs the whole service on this machine: the synthesized stack, deployed to a local AWS on loopback.

python -m infra.local start|stop|reset|logs
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from infra import deploy, local_search, ministack, openai_key, opensearch, paths, target
from infra.api_keys import ApiKeys
from infra.config import LOCAL, stack_name
from infra.ministack import Running
from infra.opensearch import Server
from infra.processes import CannotRun
from infra.target import Target

STACK = stack_name(LOCAL)
TENANT = "local"
SCOPES = ("read", "write", "admin")
ANSWER_SECONDS = 30
RUNTIME_LINES = ("START RequestId", "END RequestId", "REPORT RequestId")
CONTEXT = ("openai_base_url", "chat_model", "embedding_model", "embedding_dimension")
"""What of the CDK's context comes from environment variables of these names, in capitals."""


def start(port: int, search: str) -> None:
    """Bring the stack up, or up to date; return when it answers, and leave it running."""
    begun = time.monotonic()
    server = _search_server(search)
    process = _started(port, search=server.address if server else "")
    assembly = _synthesize(search)
    ministack.wait(process)
    if server is not None:
        opensearch.wait(server)
    _say("Deploying it")
    place = Target(STACK, target.local_session(), process.endpoint)
    outputs = deploy.deploy(assembly, STACK, session=place.session, endpoint=process.endpoint)
    openai_key.store(place, outputs, os.environ.get("OPENAI_API_KEY", ""))
    url = f"{process.endpoint}/_aws/execute-api/{outputs['ApiId']}/$default"
    key = _api_key(place, outputs["TenantsTable"])
    _write_endpoint({"url": url, "api_key": key, "stack": STACK, "aws_endpoint": process.endpoint})
    _say("Waiting for the first answer")
    _await_answer(f"{url}/v1/health", key="")
    _await_answer(f"{url}/v1/sessions?limit=1", key=key)
    _greet(url, key, seconds=time.monotonic() - begun)


def stop() -> None:
    was_running = ministack.stop()
    local_search.stop()
    print("Stopped; what it stores is kept." if was_running else "It is not running.")


def reset() -> None:
    ministack.stop()
    local_search.stop()
    shutil.rmtree(paths.local_state(), ignore_errors=True)
    print("Nothing is left of the local stack.")


def logs() -> None:
    """Print what the functions have logged in the last minute and log from now on, until interrupted."""
    client = target.local().client("logs")
    since = int(time.time() * 1000) - 60_000
    seen: set[tuple[int, str]] = set()
    while True:
        groups = [group["logGroupName"] for group in client.describe_log_groups()["logGroups"]]
        found = [
            (event["timestamp"], event["message"].rstrip())
            for group in groups
            for page in client.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=since)
            for event in page["events"]
        ]
        for _, message in sorted((entry for entry in found if entry not in seen), key=lambda entry: entry[0]):
            if not message.startswith(RUNTIME_LINES):
                print(message, flush=True)
        since, seen = max([since, *(at for at, _ in found)]), set(found)
        time.sleep(1)


def _search_server(search: str) -> Server | None:
    """The one that a search domain of the stack leads to, if the stack shall have one; else none runs."""
    if search == "opensearch":
        _say("Starting OpenSearch")
        return local_search.start()
    local_search.stop()
    return None


def _started(port: int, *, search: str) -> Running:
    """The local AWS on that port: the one that runs already, or a new one with the state of the last."""
    process = ministack.running()
    if process is not None and (process.port, process.search) == (port, search):
        return process
    if process is not None:
        _say(f"Moving from port {process.port} to {port}" if process.port != port else "Restarting the local AWS")
        ministack.stop()
    ministack.install()
    _say(f"Starting the local AWS on port {port}")
    return ministack.start(port, search=search)


def _synthesize(search: str) -> Path:
    """The assembly of the stage `local`, made by the very program that `cdk deploy` runs."""
    _say("Synthesizing the stack")
    assembly = paths.local_state() / "cdk.out"
    shutil.rmtree(assembly, ignore_errors=True)
    context = {name: os.environ[name.upper()] for name in CONTEXT if os.environ.get(name.upper())}
    told = {
        "CDK_CONTEXT_JSON": json.dumps({"stage": LOCAL, "search": search, **context}), "CDK_OUTDIR": str(assembly),
        "CDK_VALIDATION": "false",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "infra.app"], env=os.environ | told, cwd=paths.PROJECT, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise CannotRun("The stack could not be synthesized; the reason stands above.")
    return assembly


def _api_key(place: Target, table: str) -> str:
    """The key of the last start while it works, else a new one."""
    keys = ApiKeys(place, table)
    if _endpoint_file().is_file():
        known: str = json.loads(_endpoint_file().read_text())["api_key"]
        if keys.works(known):
            return known
    return keys.create(TENANT, scopes=SCOPES, label="make start")


def _endpoint_file() -> Path:
    return paths.local_state() / "endpoint.json"


def _write_endpoint(told: dict[str, str]) -> None:
    """Complete or not at all, and for its owner's eyes: it holds a key."""
    unfinished = _endpoint_file().with_suffix(".unfinished")
    unfinished.touch(mode=0o600)
    unfinished.write_text(json.dumps(told, indent=2) + "\n")
    unfinished.replace(_endpoint_file())


def _await_answer(url: str, *, key: str) -> None:
    """Return once the service answers 200."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        said = _answer(url, key=key)
        if said == "200":
            return
        if time.monotonic() > deadline:
            raise CannotRun(f"The service does not answer ({said}); `make logs` shows what its functions say.")
        time.sleep(0.2)


def _answer(url: str, *, key: str) -> str:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - our own address on loopback
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return str(answer.status)
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read(300).decode(errors='replace')}"
    except OSError as error:
        return str(error)


def _greet(url: str, key: str, *, seconds: float) -> None:
    message = '{"user_id":"sarah","messages":[{"role":"user","content":"Hi! I am Sarah from Marketing."}],"context":{}}'
    print(f"""
Palimpsest runs, after {seconds:.0f} s:  {url}
The address and an API key stand in {_endpoint_file()}. Try it:

curl -s '{url}/v1/sessions/hello/messages' \\
  -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \\
  -d '{message}'
""")


def _say(what: str) -> None:
    print(what, flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.local", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=("start", "stop", "reset", "logs"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT") or 4566))
    parser.add_argument("--search", default=os.environ.get("SEARCH", ""), help="opensearch, embedded (default) or none")
    told = parser.parse_args(arguments)
    commands = {"start": lambda: start(told.port, told.search), "stop": stop, "reset": reset, "logs": logs}
    try:
        commands[told.command]()
    except (CannotRun, deploy.DeploymentFailed) as error:
        raise SystemExit(str(error)) from error
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"A program failed, and says above why: {' '.join(map(str, error.cmd[:4]))} …") from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
