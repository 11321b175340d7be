import { useState } from "preact/hooks";
import { usePages } from "../../answers.js";
import { segment } from "../../api.js";
import { count } from "../../figures.js";
import { More } from "../../parts/lists.jsx";
import { Badge, Text, Time } from "../../parts/words.jsx";
import { Said } from "./said.jsx";

export function Compactions({ session }) {
  const root = `/sessions/${segment(session.session_id)}/compactions`;
  const pages = usePages(root, "compactions", { order: "desc", limit: 25 });
  return (
    <>
      <ol class="timeline" aria-label="Compactions, the newest first">
        {pages.rows.map((each) => (
          <li key={each.n} class="teal">
            <p class="facts">
              <strong>messages {each.from} to {each.to}</strong>
              <Badge hue="teal">{each.method}</Badge>
              {each.model && <span>{each.model}</span>}
              {each.prompt_hash && <span>prompt <code>{each.prompt_hash.slice(0, 12)}</code></span>}
              <span class="number">{count(each.tokens_before)} → {count(each.tokens_after)} tokens</span>
              <Time of={each.created_at} />
            </p>
            {each.summary ? <Text>{each.summary}</Text> : <p class="quiet">They left the window without a summary.</p>}
            <Unfolded path={`${root}/${each.n}/messages`} />
          </li>
        ))}
      </ol>
      <More pages={pages} empty="Nothing was folded yet." />
    </>
  );
}

function Unfolded({ path }) {
  const [open, set] = useState(false);
  return (
    <>
      <button class="small" aria-expanded={open} onClick={() => set(!open)}>{open ? "Fold" : "Unfold"}</button>
      {open && <Folded path={path} />}
    </>
  );
}

function Folded({ path }) {
  const pages = usePages(path, "messages", { limit: 50 });
  return (
    <>
      <ul class="messages">{pages.rows.map((each) => <Said key={each.seq} message={each} />)}</ul>
      <More pages={pages} empty="Nothing is left of it." />
    </>
  );
}
