"""Commands that operate a stack, deployed or local: keys, redrive, reindex.

They share the models of tables with the functions, and find them by their path.
"""

import sys

from infra import paths

MODELS = str(paths.LAYERS / "core" / "python")
if MODELS not in sys.path:
    sys.path.append(MODELS)
