// The budget of a context as one bar: what each part takes, what is free, and what a prompt cache can serve.

import { count, minute, percent } from "../../figures.js";
import { Stacked } from "../../parts/bars.jsx";

const PREFIX = "palimpsest-context-";

/** The context of a session that this tab showed last: its mark, and when. */
export function remembered(session) {
  return JSON.parse(sessionStorage.getItem(PREFIX + session) ?? "null");
}

export function remember(session, cache) {
  if (cache?.mark) sessionStorage.setItem(PREFIX + session, JSON.stringify({ mark: cache.mark, at: new Date().toISOString() }));
}

/** The parts add up to the budget. `stable` is the system message, and memory that stays until the next compaction. */
export function partsOf({ tokens, trace }) {
  const { system, memory, summary, messages, framing, tools } = tokens.parts;
  const stable = Math.min(memory, trace?.stable_tokens ?? 0);
  return [
    { name: "stable", value: system + framing + stable, hue: "violet" },
    { name: "summary", value: summary, hue: "teal" },
    { name: "window", value: messages, hue: "blue" },
    { name: "memory", value: memory - stable, hue: "pink" },
    { name: "tools", value: tools, hue: "orange" },
    { name: "free", value: Math.max(0, tokens.budget - tokens.total), hue: "free" },
  ];
}

export function Budget({ context, before }) {
  const { tokens, cache } = context;
  return (
    <section class="panel">
      <Stacked label="Context against its budget" parts={partsOf(context)} whole={tokens.budget}>
        {cache?.common_tokens != null && <Cached shared={cache} tokens={tokens} before={before} />}
      </Stacked>
      {tokens.total > tokens.budget && <p class="notice wrong">{count(tokens.total - tokens.budget)} tokens over the budget.</p>}
    </section>
  );
}

function Cached({ shared, tokens, before }) {
  const share = Math.min(1, shared.common_tokens / tokens.total);
  const width = (100 * Math.min(tokens.budget, shared.common_tokens)) / tokens.budget;
  const since = before?.at ? ` of ${minute(before.at)}` : "";
  return (
    <div class="cached">
      <span class="bracket" aria-hidden="true" style={{ width: `${width}%` }} />
      <p><strong>{percent(share)} cached:</strong> {count(shared.common_tokens)} of {count(tokens.total)} tokens begin as the context before{since} did.</p>
    </div>
  );
}
