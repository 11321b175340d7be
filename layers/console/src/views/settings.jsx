import { submitted, useAct, useAnswer, usePages } from "../answers.js";
import { api, segment } from "../api.js";
import { useTitle } from "../place.js";
import { Field } from "../parts/fields.jsx";
import { Loaded, More, Table } from "../parts/lists.jsx";
import { Text, Time } from "../parts/words.jsx";

export function Settings() {
  useTitle("Settings");
  const settings = useAnswer("/settings");
  return (
    <>
      <header class="head"><h1>Settings</h1></header>
      <Loaded of={settings}>{(found) => <Defaults key={JSON.stringify(found)} found={found} changed={settings.again} />}</Loaded>
      <StaticFacts />
    </>
  );
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${error.message}`);
  }
}

function Defaults({ found: { retention_job, ...own }, changed }) {
  const [act, busy] = useAct();
  const save = submitted(({ settings }) =>
    act(async () => {
      await api("PUT", "/settings", { body: read(settings) });
      changed();
    }, "Saved."),
  );
  return (
    <section class="panel">
      <h2>Defaults</h2>
      <form class="grid" onSubmit={save}>
        <Field label="The tenant's defaults" hint="JSON. Changing them needs the scope admin." name="settings" area wide rows="16" spellcheck={false} class="code"
          defaultValue={JSON.stringify(own, null, 2)} />
        <button disabled={busy}>Save</button>
      </form>
      {retention_job && <p class="facts"><span>Retention is being applied: {retention_job.state}</span><code>{retention_job.job_id}</code></p>}
    </section>
  );
}

function StaticFacts() {
  const pages = usePages("/static-facts", "static_facts", { limit: 50 });
  const [act, busy] = useAct();
  const save = submitted(async ({ id, content }, form) => {
    if (await act(() => api("PUT", `/static-facts/${segment(id)}`, { body: { content } }), "Saved.")) {
      form.reset();
      pages.again();
    }
  });
  const remove = (id) => async () => {
    if (await act(() => api("DELETE", `/static-facts/${segment(id)}`), "Deleted.")) pages.again();
  };
  const columns = [
    { name: "Id", head: true, by: (fact) => fact.id, cell: (fact) => fact.id },
    { name: "Fact", by: (fact) => JSON.stringify(fact.content), cell: (fact) => <Text>{fact.content}</Text> },
    { name: "Agent", by: (fact) => fact.agent_id, cell: (fact) => fact.agent_id ?? "all" },
    { name: "Changed", by: (fact) => fact.updated_at, cell: (fact) => <Time of={fact.updated_at} as="ago" /> },
    { name: "Actions", silent: true, cell: (fact) => <button class="small" disabled={busy} onClick={remove(fact.id)}>Delete {fact.id}</button> },
  ];
  return (
    <section>
      <h2>Static facts</h2>
      <form class="panel bar" onSubmit={save}>
        <Field label="Id" name="id" required autocomplete="off" /><Field label="Content" name="content" required wide autocomplete="off" />
        <button disabled={busy}>Save</button>
      </form>
      <Table label="Static facts" columns={columns} rows={pages.rows} id={(fact) => fact.id} />
      <More pages={pages} empty="The tenant states nothing." />
    </section>
  );
}
