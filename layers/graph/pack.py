"""Packs the engine into one file. Unpacked beside the models, the engine would exceed the size
limit of a function.

Before its first query, `palimpsest_graph.ladybug` unpacks the file into a folder that a function
may write.
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
