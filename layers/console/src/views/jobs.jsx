import { useState } from "preact/hooks";
import { useAct, useAnswer, usePages } from "../answers.js";
import { api, segment } from "../api.js";
import { count, dollars } from "../figures.js";
import { link, useTitle } from "../place.js";
import { Stacked } from "../parts/bars.jsx";
import { Select, same } from "../parts/fields.jsx";
import { Icon } from "../parts/icon.jsx";
import { Loaded, More, Table } from "../parts/lists.jsx";
import { Badge, Id, Text, Time } from "../parts/words.jsx";

const MODELLED = new Set(["extract", "summarize", "flush"]);
const STATES = ["failed", "pending", "running", "done"];

/** The jobs of a user; of the whole tenant only failed ones can be listed. */
export function Jobs({ user }) {
  const [state, set] = useState(user ? "" : "failed");
  const [open, expand] = useState(null);
  const pages = usePages("/jobs", "jobs", { user_id: user, state, limit: 50 }, [user, state]);
  const toggle = (id) => expand(open === id ? null : id);
  return (
    <>
      {user ? <div class="panel bar"><Select label="State" value={state} onChange={set} of={[["", "all"], ...same(STATES)]} /></div> : <Headline />}
      <Table label="Jobs" columns={columns(open, toggle)} rows={pages.rows} id={(job) => job.job_id}
        detail={(job) => open === job.job_id && <Opened job={job} changed={pages.again} />} />
      <More pages={pages} empty={user ? "There is no job here." : "No job has failed."} />
    </>
  );
}

function Headline() {
  useTitle("Failed jobs");
  return <header class="head"><h1>Failed jobs</h1><p class="quiet">Other jobs are listed with their user.</p></header>;
}

const columns = (open, toggle) => [
  {
    name: "Job", head: true, by: (job) => job.kind,
    cell: (job) => (
      <button class="opener" aria-expanded={open === job.job_id} onClick={() => toggle(job.job_id)}>
        <Icon name={open === job.job_id ? "open" : "next"} size={14} /> {job.kind}
      </button>
    ),
  },
  { name: "State", by: (job) => job.state, cell: (job) => <Badge>{job.state}</Badge> },
  { name: "Session", by: (job) => job.session_id, cell: (job) => job.session_id && <a href={link("sessions", job.session_id)}>{job.session_id}</a> },
  { name: "Messages", by: (job) => job.range?.from, cell: (job) => (job.range ? `${job.range.from} to ${job.range.to}` : "–") },
  { name: "Error", by: (job) => job.error, cell: (job) => (job.error ? <code class="wrong">{job.error}</code> : "–") },
  { name: "Began", by: (job) => job.created_at, cell: (job) => <Time of={job.created_at} as="ago" /> },
];

function Opened({ job, changed }) {
  const [act, busy] = useAct();
  const found = useAnswer(`/jobs/${segment(job.job_id)}`);
  const retry = async () => {
    if (await act(() => api("POST", `/jobs/${segment(job.job_id)}/retry`), "It is tried again.")) changed();
  };
  return (
    <div class="opened">
      <p class="facts"><Id what="id of the job">{job.job_id}</Id><span>attempt {job.attempt + 1}</span></p>
      {job.state === "failed" && <button class="small" disabled={busy} onClick={retry}><Icon name="refresh" /> Try again</button>}
      <Loaded of={found}>{(whole) => <Ledger job={whole} />}</Loaded>
      {MODELLED.has(job.kind) && <Calls job={job} />}
    </div>
  );
}

/** What a model was sent and said, where the tenant keeps that. */
function Calls({ job }) {
  const found = useAnswer(`/jobs/${segment(job.job_id)}/calls`, { limit: 20 });
  return (
    <Loaded of={found}>
      {({ kept, calls, next_cursor }) => (
        <section class="calls" aria-label="Model calls">
          <h3>Model calls</h3>
          {!kept && <p class="quiet">They are not kept. A key with the scope admin turns this on by <code>keep_model_calls</code> in the <a href={link("settings")}>settings</a>.</p>}
          {kept && !calls.length && <p class="quiet">No call of the last seven days is kept.</p>}
          {calls.map((call) => <Call key={call.at} call={call} />)}
          {next_cursor && <p class="quiet">The first {calls.length} are shown.</p>}
        </section>
      )}
    </Loaded>
  );
}

function Call({ call }) {
  return (
    <details class="call">
      <summary>
        <Time of={call.at} as="minute" /> {call.model && <code>{call.model}</code>} {call.error && <code class="wrong">{call.error}</code>}
        <span class="quiet">{count(call.tokens_in)} tokens in, {count(call.tokens_out)} out</span>
      </summary>
      <h4>Instructions</h4><Text>{call.instructions}</Text>
      <h4>Prompt</h4><Text>{call.text}</Text>
      <h4>Answer</h4>{call.answer === null ? <p class="quiet">The call failed.</p> : <Text>{call.answer}</Text>}
    </details>
  );
}

function Ledger({ job }) {
  const { ledger, usage } = job;
  return (
    <>
      {ledger?.received > 0 && (
        <Stacked label="Messages" unit="messages" whole={ledger.received} parts={[
          { name: "extracted", value: ledger.extracted, hue: "green" }, { name: "skipped", value: ledger.skipped, hue: "gray" },
          { name: "parked", value: ledger.parked, hue: "red" },
        ]} />
      )}
      {usage?.model_calls > 0 && (
        <p class="facts">
          <span>{count(usage.model_calls)} calls of a model</span><span>{count(usage.tokens_in)} tokens in</span>
          <span>{count(usage.tokens_out)} tokens out</span><span>{dollars(usage.cost_usd)}</span>
        </p>
      )}
      <details><summary>As JSON</summary><Text>{job}</Text></details>
    </>
  );
}
