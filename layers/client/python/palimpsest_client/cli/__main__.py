"""`python -m palimpsest_client.cli` is the command `palimpsest`."""

from palimpsest_client.cli import main

main()
