// The knowledge graph around an entity, drawn and in words, and queries over it.

import { useState } from "preact/hooks";
import { submitted, useAct, useAnswer } from "../answers.js";
import { api, segment } from "../api.js";
import { Drawn } from "../parts/drawn.jsx";
import { shownName } from "../parts/layout.js";
import { Field, Select } from "../parts/fields.jsx";
import { Empty, Loaded, Table } from "../parts/lists.jsx";
import { Badge, Source, Time } from "../parts/words.jsx";

const AROUND = [["1", "1 step"], ["2", "2 steps"], ["3", "3 steps"], ["4", "4 steps"]];
const SHOWN = 40;

export function Graph({ user }) {
  const root = `/users/${segment(user)}/graph`;
  const own = { id: user, name: user, type: "User", depth: 0 };
  const [centre, go] = useState(own);
  const [depth, deepen] = useState("2");
  const found = useAnswer(`${root}/entities/${segment(centre.id)}/neighbors`, { depth, limit: SHOWN }, [centre.id, depth]);
  return (
    <>
      <div class="panel bar">
        <Select label={`Around ${centre.name}`} of={AROUND} value={depth} onChange={deepen} />
        {centre.id !== user && <button onClick={() => go(own)}>Back to the user</button>}
      </div>
      <Loaded of={found}>
        {(answer) => (
          <>
            <Drawn key={centre.id} nodes={[{ ...centre, depth: 0 }, ...answer.entities]} edges={answer.relationships} go={go} />
            {!answer.is_whole && <p class="quiet">There is more. The nearest {SHOWN} are drawn.</p>}
            {!answer.entities.length && <Empty>Nothing is related to it.</Empty>}
            <Relationships root={root} nodes={[centre, ...answer.entities]} edges={answer.relationships} changed={found.again} />
          </>
        )}
      </Loaded>
      <Cypher root={root} />
    </>
  );
}

function Relationships({ root, nodes, edges, changed }) {
  const [act, busy] = useAct();
  const remove = (id) => async () => {
    if (await act(() => api("DELETE", `${root}/relationships/${segment(id)}`), "Deleted.")) changed();
  };
  const names = Object.fromEntries(nodes.map((node) => [node.id, shownName(node)]));
  const columns = [
    { name: "From", head: true, by: (edge) => names[edge.from], cell: (edge) => <span dir="auto">{names[edge.from] ?? edge.from}</span> },
    { name: "Relationship", by: (edge) => edge.type, cell: (edge) => <Badge hue="blue">{edge.type}</Badge> },
    { name: "To", by: (edge) => names[edge.to], cell: (edge) => <span dir="auto">{names[edge.to] ?? edge.to}</span> },
    { name: "Since", by: (edge) => edge.valid_from, cell: (edge) => <Time of={edge.valid_from} as="day" /> },
    { name: "Source", cell: (edge) => <Source of={edge.source} /> },
    {
      name: "Actions", silent: true,
      cell: (edge) => edge.type !== "PREFERS" && <button class="small" disabled={busy} onClick={remove(edge.id)}>Delete</button>,
    },
  ];
  return <Table label="Relationships" columns={columns} rows={edges} id={(edge) => edge.id} />;
}

const FIRST = "MATCH (u:User {id: $userId})-[r]->(n) RETURN label(r), n.name LIMIT 25";
const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function Cypher({ root }) {
  const [found, show] = useState(null);
  const [act, busy] = useAct();
  const run = submitted(({ cypher }) => act(async () => show(await api("POST", `${root}/query`, { body: { cypher } }))));
  const columns = (found?.columns ?? []).map((name, at) => ({ name, by: ({ row }) => said(row[at]), cell: ({ row }) => <span dir="auto">{said(row[at])}</span> }));
  return (
    <section class="panel">
      <h2>Query in Cypher</h2>
      <form class="grid" onSubmit={run}>
        <Field label="Query" name="cypher" area required wide defaultValue={FIRST} spellcheck={false} class="code" />
        <button disabled={busy}>Run</button>
      </form>
      {found && <Table label="Result" columns={columns} rows={found.rows.map((row, at) => ({ row, at }))} id={({ at }) => at} />}
      {found && !found.rows.length && <Empty>The query found nothing.</Empty>}
    </section>
  );
}
