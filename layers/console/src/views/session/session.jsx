// One session: its window, and tabs for its messages, the context, and what was folded.

import { useAnswer } from "../../answers.js";
import { segment } from "../../api.js";
import { count, plural } from "../../figures.js";
import { link, useTitle } from "../../place.js";
import { Meter } from "../../parts/bars.jsx";
import { Loaded } from "../../parts/lists.jsx";
import { Tabs } from "../../parts/tabs.jsx";
import { Badge, Copy, Text, Time } from "../../parts/words.jsx";
import { Compactions } from "./compactions.jsx";
import { Context } from "./context.jsx";
import { Messages } from "./messages.jsx";

export const TABS = [
  ["messages", "Messages", Messages], ["context", "Context as sent", Context], ["compactions", "Compactions", Compactions],
  ["settings", "Settings", Configured],
];

export function Session({ id, tab, query }) {
  const found = useAnswer(`/sessions/${segment(id)}`);
  const [, shown, View] = TABS.find(([name]) => name === tab) ?? [];
  useTitle(shown, id);
  return (
    <>
      <header class="head"><div class="named"><h1>{id}</h1><Copy text={id} what="id of the session" /></div></header>
      <Loaded of={found}>
        {(session) => (
          <>
            <Facts session={session} />
            <Meter label={`Window of ${count(session.window.max_tokens)} tokens`} value={session.window.tokens} most={session.window.max_tokens} limit />
            <Tabs label="Of this session" tabs={TABS} here={tab} to={(name) => link("sessions", id, name)} />
            {View ? <View key={`${id}/${tab}`} session={session} query={query} /> : <p class="empty">There is no such view.</p>}
          </>
        )}
      </Loaded>
    </>
  );
}

const Facts = ({ session }) => (
  <p class="facts">
    <Badge>{session.status}</Badge>
    <span>of <a href={link("users", session.user_id)}>{session.user_id}</a></span>
    <span>{plural(session.totals.messages, "message")}, {count(session.totals.tokens)} tokens</span>
    <span>strategy {session.memory.strategy}</span>
    {session.compaction !== "none" && <span>compaction <Badge>{session.compaction}</Badge></span>}
    <span>written <Time of={session.updated_at} as="ago" /></span>
    <a href={`${link("playground")}?user=${encodeURIComponent(session.user_id)}&session=${encodeURIComponent(session.session_id)}`}>Open in the playground</a>
  </p>
);

function Configured({ session }) {
  return (
    <div class="halves">
      <section class="panel"><h2>Memory</h2><Text>{session.memory}</Text></section>
      <section class="panel">
        <h2>System message</h2><Text>{session.system ?? "none"}</Text>
        <h2>Metadata</h2><Text>{session.metadata}</Text>
      </section>
    </div>
  );
}
