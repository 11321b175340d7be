"""Starts, stops, resets or follows the local stack: python -m infra.local start|stop|reset|logs."""

import argparse
import os
import subprocess

from infra.local import commands, logs
from infra.local.deploy import DeploymentFailed
from infra.local.processes import CannotRun


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.local", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("command", choices=("start", "stop", "reset", "logs"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT") or 4566))
    parser.add_argument("--search", default=os.environ.get("SEARCH", ""), help="embedded, dynamodb, opensearch, none")
    parsed = parser.parse_args(arguments)
    run = {
        "start": lambda: commands.start(parsed.port, parsed.search),
        "stop": commands.stop,
        "reset": commands.reset,
        "logs": logs.follow,
    }[parsed.command]
    try:
        run()
    except (CannotRun, DeploymentFailed) as error:
        raise SystemExit(str(error)) from error
    except subprocess.CalledProcessError as error:
        command = " ".join(map(str, error.cmd[:4]))
        raise SystemExit(f"A program failed; its own message is above: {command} …") from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
