// One memory, opened: its words, where they come from, and what can be done with it.

import { useState } from "preact/hooks";
import { submitted, useAct } from "../../answers.js";
import { api, segment } from "../../api.js";
import { plural } from "../../figures.js";
import { Field } from "../../parts/fields.jsx";
import { Id, Source, Text, Time } from "../../parts/words.jsx";
import { isLong } from "./fields.js";
import { Timeline } from "./timeline.jsx";

const METHODS = { given: "stated by a caller", model: "found by a model", pattern: "found by rules" };

export function Memory({ root, memory, changed, close }) {
  const [view, show] = useState(null);
  const path = `${root}/${segment(memory.id)}`;
  const toggle = (name) => () => show(view === name ? null : name);
  const isStored = "status" in memory; // a result of a search says less
  const done = () => {
    close();
    changed();
  };
  return (
    <div class="opened">
      {isLong(memory.content) && <Text>{memory.content}</Text>}
      <p class="facts">
        <span>said by {memory.speaker}</span>
        {memory.occurs_at && <span>happens <Time of={memory.occurs_at} as="day" /></span>}
        {memory.due_at && <span>due <Time of={memory.due_at} as="day" /></span>}
        {memory.ended && <span>ended <Time of={memory.valid_to} /></span>}
        {memory.method && <span>{METHODS[memory.method] ?? memory.method}</span>}
        {isStored && <span>recalled {plural(memory.access_count, "time")}</span>}
        <Source of={memory.source} />
        <Id what="id of the memory">{memory.id}</Id>
      </p>
      {memory.source?.quote && memory.source.quote !== memory.content && <blockquote dir="auto">{memory.source.quote}</blockquote>}
      {memory.data != null && <Text>{memory.data}</Text>}
      <div class="bar">
        {memory.status !== "superseded" && <button class="small" aria-expanded={view === "edit"} onClick={toggle("edit")}>Edit</button>}
        <button class="small" aria-expanded={view === "history"} onClick={toggle("history")}>History</button>
        <button class="small" aria-expanded={view === "delete"} onClick={toggle("delete")}>Delete</button>
      </div>
      {view === "edit" && <Editing path={path} memory={memory} done={done} />}
      {view === "history" && <Timeline root={root} path={path} changed={changed} />}
      {view === "delete" && <Deleting path={path} done={done} />}
    </div>
  );
}

function Editing({ path, memory, done }) {
  const [act, busy] = useAct();
  const edit = submitted(async ({ content }) => {
    if (await act(() => api("PATCH", path, { body: { content } }), "A new version was saved.")) done();
  });
  return (
    <form class="grid" onSubmit={edit}>
      <Field label="New content" name="content" area required wide defaultValue={memory.content} />
      <button disabled={busy}>Save as a new version</button>
    </form>
  );
}

function Deleting({ path, done }) {
  const [act, busy] = useAct();
  const remove = async () => {
    if (await act(() => api("DELETE", path), "Deleted.")) done();
  };
  return (
    <p class="notice">
      <span>This version is removed for good.</span> <button class="danger" disabled={busy} onClick={remove}>Delete for good</button>
    </p>
  );
}
