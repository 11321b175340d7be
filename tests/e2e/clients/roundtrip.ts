// What a TypeScript program writes with the types that are generated from the description: `node roundtrip.js URL KEY`.
import type { components, paths } from "./palimpsest";

type Shapes = components["schemas"];
type Append = NonNullable<
  paths["/v1/sessions/{session_id}/messages"]["post"]["requestBody"]
>["content"]["application/json"];
declare const process: { argv: string[] };
const [, , url, key] = process.argv;

async function call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const answer = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

const wanted: Shapes["NewTenantSettings"] = { memory: { max_tokens: 9000 }, retention_days: 7 };
const settings = await call<Shapes["TenantSettings"]>("PUT", "/v1/settings", wanted);

const begin: Shapes["NewSession"] = { session_id: "s", user_id: "sarah", memory: { keep_recent_turns: 2 } };
const session = await call<Shapes["Session"]>("POST", "/v1/sessions", begin);

const append: Append = {
  messages: [
    { role: "user", content: "Which form do I need?" },
    {
      role: "assistant",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "find", arguments: "{}" } }],
    },
    {
      role: "tool",
      tool_call_id: "call_1",
      id: "tool-1",
      metadata: { source: "handbook", page: 7 },
      content: [{ type: "text", text: "Form HR-101." }],
    },
  ],
};
await call<Shapes["Appended"]>("POST", "/v1/sessions/s/messages", append);
const history = await call<Shapes["MessagePage"]>("GET", "/v1/sessions/s/messages");

const ask: Shapes["ContextRequest"] = { message: "And where do I send it?" };
const context = await call<Shapes["Context"]>("POST", "/v1/sessions/s/context", ask);

const save: Shapes["NewMemories"] = { memories: [{ type: "fact", content: "Sarah works in Marketing." }] };
await call<Shapes["SavedMemories"]>("POST", "/v1/users/sarah/memories", save);
const question: Shapes["RecallBody"] = { query: "Where does Sarah work?", filter: { types: ["fact"] } };
const recalled = await call<Shapes["Recalled"]>("POST", "/v1/users/sarah/recall", question);

console.log(
  JSON.stringify({
    settings,
    max_tokens: session.memory["max_tokens"],
    tool: history.messages[2],
    last: context.messages.at(-1),
    found: recalled.memories.map((memory) => memory.content),
  }),
);
export {};
