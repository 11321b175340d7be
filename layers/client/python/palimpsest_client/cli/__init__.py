"""The command line `palimpsest`. It calls the service through the client. The extra `cli` installs
its libraries, typer and rich.
"""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from palimpsest_client.cli.commands import run
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit("The command line needs typer and rich: pip install 'palimpsest-memory[cli]'")
    run()
