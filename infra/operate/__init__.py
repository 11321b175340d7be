"""Commands that operate a deployed stack, or the local one: keys, redrive, reindex.

They share the models of tables with the functions, and find these models by their path.
"""

import sys

from infra import paths

MODELS = str(paths.LAYERS / "core" / "python")
if MODELS not in sys.path:
    sys.path.append(MODELS)
