"""A mem0 of the reader's own, with a memory in it: the one that this service plays."""

import os

os.environ |= {
    "MEM0_HOST": os.environ["PALIMPSEST_URL"] + "/compat/mem0",
    "MEM0_API_KEY": os.environ["PALIMPSEST_API_KEY"],
}

from mem0 import MemoryClient

MemoryClient(api_key=os.environ["MEM0_API_KEY"], host=os.environ["MEM0_HOST"]).add(
    [{"role": "user", "content": "Moritz lives in Hamburg."}], user_id="moritz", infer=False
)
