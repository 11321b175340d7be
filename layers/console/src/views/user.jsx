// One user: who they are, and tabs for all that is kept of them.

import { useAnswer } from "../answers.js";
import { segment } from "../api.js";
import { plural } from "../figures.js";
import { link, useTitle } from "../place.js";
import { Tabs } from "../parts/tabs.jsx";
import { Copy, Face, Time } from "../parts/words.jsx";
import { Graph } from "./graph.jsx";
import { Jobs } from "./jobs.jsx";
import { Memories } from "./memories/memories.jsx";
import { Preferences } from "./preferences.jsx";
import { Profile } from "./profile.jsx";
import { Recall } from "./recall.jsx";
import { Sessions } from "./sessions.jsx";

export const TABS = [
  ["memories", "Memories", Memories], ["profile", "Profile", Profile], ["sessions", "Sessions", Sessions], ["recall", "Recall", Recall],
  ["preferences", "Preferences", Preferences], ["graph", "Graph", Graph], ["jobs", "Jobs", Jobs],
];

export function User({ user, tab, query }) {
  const [, shown, View] = TABS.find(([name]) => name === tab) ?? [];
  useTitle(shown, user);
  const { answer } = useAnswer(`/users/${segment(user)}`);
  return (
    <>
      <header class="head person">
        <Face of={answer?.name ?? user} large />
        <div>
          <div class="named"><h1 dir="auto">{user}</h1><Copy text={user} what="id of the user" /></div>
          <p class="facts">
            {answer?.name && answer.name !== user && <span dir="auto">{answer.name}</span>}
            <span>{answer ? plural(answer.memories.total, "memory", "memories") : "…"}</span>
            <span>{answer ? plural(answer.sessions.total, "session") : "…"}</span>
            {answer?.last_activity && <span>active <Time of={answer.last_activity} as="ago" /></span>}
          </p>
        </div>
      </header>
      <Tabs label="Of this user" tabs={TABS} here={tab} to={(name) => link("users", user, name)} />
      {View ? <View key={`${user}/${tab}`} user={user} query={query} /> : <p class="empty">There is no such view.</p>}
    </>
  );
}
