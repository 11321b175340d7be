"""Starts, stops, resets or follows the local stack: python -m infra.local
start|stop|reset|logs|sam.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable

from infra.local import commands, logs, sam
from infra.local.deploy import DeploymentFailed
from infra.local.processes import CannotRun


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.local", description=(__doc__ or "").partition(":")[0]
    )
    parser.add_argument("command", choices=("start", "stop", "reset", "logs", "sam"))
    parser.add_argument(
        "--port",
        default=os.environ.get("PORT", ""),
        help="default: that of the last start, or 4566",
    )
    parser.add_argument(
        "--search",
        default=os.environ.get("SEARCH", ""),
        help="embedded, dynamodb, opensearch, none",
    )
    parser.add_argument("--all", action="store_true", help="reset: forget its address and key, too")
    parser.add_argument(
        "--json", action="store_true", help="logs: print all that functions log, as JSON"
    )
    parser.add_argument(
        "--host",
        default=sam.HOST,
        help="sam: how functions call this machine (default: %(default)s)",
    )
    parsed = parser.parse_args(arguments)
    run: Callable[[], None] = {
        "start": lambda: commands.start(parsed.port, parsed.search),
        "stop": commands.stop,
        "reset": lambda: commands.reset(forgets_address=parsed.all),
        "logs": lambda: logs.follow(as_json=parsed.json),
        "sam": lambda: sam.prepare(host=parsed.host),
    }[parsed.command]
    try:
        run()
    except (CannotRun, DeploymentFailed) as error:
        raise SystemExit(str(error)) from error
    except subprocess.CalledProcessError as error:
        command = " ".join(map(str, error.cmd[:4]))
        raise SystemExit(f"A program failed; its own message is above: {command} …") from error
    except KeyboardInterrupt:
        raise SystemExit(0 if parsed.command == "logs" else 130) from None
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
