"""A mem0 of the reader's own: the one that this service plays."""

import os

os.environ |= {
    "MEM0_HOST": os.environ["PALIMPSEST_URL"] + "/compat/mem0",
    "MEM0_API_KEY": os.environ["PALIMPSEST_API_KEY"],
}
