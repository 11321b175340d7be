"""Commands for the operator of a stack: keys, redriving, reindexing, restoring. They share models of tables with the
functions.
"""

import sys

from infra import paths

MODELS = str(paths.LAYERS / "core" / "python")
if MODELS not in sys.path:
    sys.path.append(MODELS)
