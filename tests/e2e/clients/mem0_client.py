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
history = client.history(changed["id"])
client.search("Where does Sarah live?", **whose)
client.delete(changed["id"])
left = client.get_all(**whose)
client.delete_all(user_id="sarah")
print(json.dumps({"added": added, "listed": listed, "read": read, "history": history, "left": left}))
