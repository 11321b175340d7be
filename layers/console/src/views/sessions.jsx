import { useState } from "preact/hooks";
import { submitted, usePages } from "../answers.js";
import { count } from "../figures.js";
import { link, useTitle } from "../place.js";
import { Field, Select, same } from "../parts/fields.jsx";
import { Icon } from "../parts/icon.jsx";
import { More, Table } from "../parts/lists.jsx";
import { Badge, Time } from "../parts/words.jsx";

const Level = ({ window: { tokens, max_tokens } }) => (
  <span class="level" title={`${count(tokens)} of ${count(max_tokens)} tokens`}>
    <span class="rail" aria-hidden="true"><span class="fill" style={{ width: `${Math.min(100, (100 * tokens) / max_tokens)}%` }} /></span>
    <span class="number">{count(tokens)} of {count(max_tokens)}</span>
  </span>
);

const COLUMNS = [
  { name: "Session", head: true, by: (each) => each.session_id, cell: (each) => <a href={link("sessions", each.session_id)}>{each.session_id}</a> },
  { name: "User", by: (each) => each.user_id, cell: (each) => <a href={link("users", each.user_id)}>{each.user_id}</a> },
  { name: "Messages", number: true, by: (each) => each.totals.messages, cell: (each) => count(each.totals.messages) },
  { name: "Window", shown: "Window, in tokens", by: (each) => each.window.tokens / each.window.max_tokens, cell: (each) => <Level window={each.window} /> },
  { name: "State", by: (each) => each.status, cell: (each) => <Badge>{each.status}</Badge> },
  { name: "Last written", by: (each) => each.updated_at, cell: (each) => <Time of={each.updated_at} as="ago" /> },
];

/** The sessions of a user, or of the whole tenant. */
export function Sessions({ user }) {
  const [words, look] = useState("");
  const [status, set] = useState("");
  const query = { user_id: user, q: user ? words : "", status, limit: 50 };
  const pages = usePages("/sessions", "sessions", query, [user, words, status]);
  return (
    <>
      {!user && <Headline />}
      <div class="panel bar">
        {user && (
          <form class="bar grow" role="search" onSubmit={submitted(({ q }) => look(q))}>
            <Field label="Words that were said" name="q" type="search" wide /><button><Icon name="search" /> Search</button>
          </form>
        )}
        <Select label="State" value={status} onChange={set} of={[["", "all"], ...same(["active", "ended"])]} />
      </div>
      <Table label="Sessions" columns={COLUMNS.filter((column) => !user || column.name !== "User")} rows={pages.rows} id={(each) => each.session_id} />
      <More pages={pages} empty="There is no session here." />
    </>
  );
}

function Headline() {
  useTitle("Sessions");
  return <header class="head"><h1>Sessions</h1></header>;
}
