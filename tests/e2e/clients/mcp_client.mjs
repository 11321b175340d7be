// Drives a user's memory with the official TypeScript client, in one era of the protocol; prints what it saw as JSON.
//
//     node mcp_client.mjs URL KEY auto|legacy
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, key, mode] = process.argv.slice(2);
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${key}` } },
});
const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
await client.connect(transport);
const seen = (result) => ({
  text: result.content[0].text,
  data: result.structuredContent ?? null,
  is_error: result.isError ?? false,
});
const call = async (name, given) => seen(await client.callTool({ name, arguments: given }));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const saved = await call("remember", { content: `Sarah tested ${mode}.`, topic_key: mode });
const listed = await call("list_memories", { topic_key: mode });
const wrong = await call("recall", { k: 3 });
console.log(JSON.stringify({ tools, saved, listed, wrong }));
await client.close();
