"""Pack the engine into one file: unzipped with the models beside it, it would exceed what a
function may weigh.

`palimpsest_graph.ladybug` unpacks it where a function may write, before its first query.
"""

import shutil
import sys
from pathlib import Path

PACKED = "ladybug_packed"


def main() -> None:
    packages = Path(sys.argv[1])
    shutil.make_archive(str(packages / PACKED), "zip", root_dir=packages, base_dir="ladybug")
    shutil.rmtree(packages / "ladybug")


if __name__ == "__main__":
    main()
