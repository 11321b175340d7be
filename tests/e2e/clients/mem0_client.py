"""Uses mem0's own client with our address and key; prints what it saw as JSON.

python mem0_client.py URL KEY
"""

import json
import os
import sys

os.environ["MEM0_TELEMETRY"] = "false"

from mem0 import MemoryClient

url, key = sys.argv[1:]
client = MemoryClient(api_key=key, host=url)
whose = {"filters": {"user_id": "sarah"}}
added = client.add("Sarah lives in Hamburg.", user_id="sarah", infer=False)["results"]
listed = client.get_all(**whose)
read = client.get(added[0]["id"])
changed = client.update(added[0]["id"], text="Sarah lives in Kiel.")
again = client.get(added[0]["id"])
history = client.history(changed["id"])
client.search("Where does Sarah live?", **whose)
recent = {
    "AND": [
        {"user_id": "sarah"},
        {"NOT": [{"created_at": {"lt": "2020-01-01"}}]},
        {"kind": {"icontains": "HO"}},
    ]
}
client.add("Sarah owns a boat.", user_id="sarah", infer=False, metadata={"kind": "thing"})
client.add("Sarah owns a house.", user_id="sarah", infer=False, metadata={"kind": "house"})
filtered = client.get_all(filters=recent)
client.delete(added[0]["id"])
left = client.get_all(**whose)
client.delete_all(user_id="sarah")
saw = {
    "added": added,
    "listed": listed,
    "read": read,
    "again": again,
    "history": history,
    "left": left,
}
print(json.dumps({**saw, "filtered": filtered}))
