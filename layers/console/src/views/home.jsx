// The first view: the tenant in figures, and what needs attention.

import { useEffect, useState } from "preact/hooks";
import { useAnswer, rowsOf, usePages } from "../answers.js";
import { durations } from "../api.js";
import { byDay, compact, count, dollars, plural, quantile } from "../figures.js";
import { link, useTitle } from "../place.js";
import { Columns } from "../parts/bars.jsx";
import { Icon } from "../parts/icon.jsx";
import { Empty, Loading, Wrong } from "../parts/lists.jsx";
import { Badge, Face, Time } from "../parts/words.jsx";

const MOST_USERS = 500;
const LATEST = 6;

function Figure({ name, value, note, to, hue = "" }) {
  return (
    <li class={`figure ${hue}`}>
      <span class="name">{to ? <a href={to}>{name}</a> : name}</span>
      <strong>{value}</strong>
      <span class="quiet">{note}</span>
    </li>
  );
}

const sum = (rows, read) => rows.reduce((total, row) => total + (read(row) ?? 0), 0);

/** All users with their counts, up to 500; `whole` says whether these are all. */
function useCounted() {
  const [counted, set] = useState({});
  useEffect(() => {
    let stale = false;
    rowsOf("/users", "users", { query: { counts: true }, most: MOST_USERS }).then(
      (answer) => stale || set({ answer }),
      (error) => stale || set({ error }),
    );
    return () => {
      stale = true;
    };
  }, []);
  return counted;
}

export function Home() {
  useTitle("Home");
  const counted = useCounted();
  const usage = useAnswer("/usage", { by: "day", limit: 100 });
  const reviews = usePages("/reviews", "reviews", { limit: 100 });
  const failed = usePages("/jobs", "jobs", { state: "failed", limit: 100 });
  return (
    <>
      <header class="head"><h1>Home</h1></header>
      {counted.error && <Wrong error={counted.error} />}
      <ul class="figures" aria-label="Figures">
        <Counted {...counted} />
        <Figure name="Failed jobs" to={link("jobs")} hue={failed.rows.length ? "red" : ""}
          value={failed.loading ? "…" : `${count(failed.rows.length)}${failed.next ? "+" : ""}`}
          note={failed.rows.length ? "need a look" : "nothing needs a look"} />
        <Used usage={usage} />
        <Latency />
      </ul>
      <Attention failed={failed.rows} reviews={reviews} />
      <div class="halves">
        <Latest users={counted.answer?.rows} />
        <Days usage={usage} />
      </div>
    </>
  );
}

function Counted({ answer }) {
  const rows = answer?.rows ?? [];
  const shown = (value) => (answer ? `${count(value)}${answer.whole ? "" : "+"}` : "…");
  const note = answer?.whole === false ? `of the first ${MOST_USERS} users` : null;
  const active = sum(rows, (user) => user.sessions?.active);
  const types = ["fact", "event", "instruction", "task", "preference"]
    .map((type) => [sum(rows, (user) => user.memories?.[type]), type])
    .filter(([many]) => many > 0)
    .sort(([one], [other]) => other - one)
    .slice(0, 2)
    .map(([many, type]) => plural(many, type));
  return (
    <>
      <Figure name="Users" to={link("users")} value={shown(rows.length)} note={note ?? "with sessions or memories"} />
      <Figure name="Sessions" to={link("sessions")} value={shown(sum(rows, (user) => user.sessions?.total))} note={note ?? `${count(active)} active`} />
      <Figure name="Memories" to={link("users")} value={shown(sum(rows, (user) => user.memories?.total))} note={note ?? (types.join(", ") || "current ones")} />
    </>
  );
}

function Used({ usage: { answer, error } }) {
  const rows = answer?.usage ?? [];
  const shown = (value) => (answer ? value : error ? "–" : "…");
  const needs = error && (error.status === 403 ? "needs the scope admin" : error.message);
  const tokens = sum(rows, (row) => row.tokens_in + row.tokens_out + row.embedding_tokens + row.chat_tokens_in + row.chat_tokens_out);
  const cost = sum(rows, (row) => row.cost_usd + row.chat_cost_usd);
  const unpriced = sum(rows, (row) => row.unpriced_calls + row.chat_unpriced_calls);
  return (
    <>
      <Figure name="Messages" to={link("usage")} value={shown(compact(sum(rows, (row) => row.messages)))} note={needs ?? "this month"} />
      <Figure name="Model tokens" to={link("usage")} value={shown(compact(tokens))} note={needs ?? "this month, in and out"} />
      <Figure name="Cost of models" to={link("usage")} value={shown(dollars(cost))}
        note={needs ?? (unpriced ? `without ${plural(unpriced, "call")} of unknown price` : "this month")} />
    </>
  );
}

/** The p95 of this page's own calls: what the reader waits for, network included. */
function Latency() {
  const [times, set] = useState(durations);
  useEffect(() => {
    const timer = setInterval(() => set(durations()), 1000);
    return () => clearInterval(timer);
  }, []);
  const p95 = quantile(times, 0.95);
  return <Figure name="p95" value={p95 == null ? "–" : `${Math.round(p95)} ms`} note={`of ${plural(times.length, "call")} of this page`} />;
}

const Attention = ({ failed, reviews }) =>
  (failed.length > 0 || reviews.rows.length > 0) && (
    <section class="panel">
      <h2>Needs a look</h2>
      <ul class="rows">
        {reviews.rows.length > 0 && (
          <li><Badge hue="yellow">feedback</Badge><a href={link("reviews")}>{plural(reviews.rows.length, "open review")}{reviews.next ? " or more" : ""}</a></li>
        )}
        {failed.slice(0, LATEST).map((job) => (
          <li key={job.job_id}>
            <Badge>failed</Badge> <strong>{job.kind}</strong>
            {job.session_id && <a href={link("sessions", job.session_id)}>{job.session_id}</a>}
            <code>{job.error}</code> <Time of={job.created_at} as="ago" />
          </li>
        ))}
        {failed.length > LATEST && <li><a href={link("jobs")}>All failed jobs</a></li>}
      </ul>
    </section>
  );

function Latest({ users }) {
  const latest = [...(users ?? [])]
    .sort((a, b) => (b.last_activity ?? "").localeCompare(a.last_activity ?? ""))
    .slice(0, LATEST);
  return (
    <section class="panel">
      <h2>Last active</h2>
      {!users && <Loading />}
      {users && !users.length && (
        <Empty>
          No user has a session or a memory yet. Say something in the <a href={link("playground")}>playground</a>, and it appears here.
        </Empty>
      )}
      <ul class="rows">
        {latest.map((user) => (
          <li key={user.user_id}>
            <Face of={user.name ?? user.user_id} />
            <a class="grow" href={link("users", user.user_id)}>{user.user_id}</a>
            <span class="quiet number">{plural(user.memories?.total ?? 0, "memory", "memories")}</span>
            <Time of={user.last_activity} as="ago" />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Days({ usage: { answer, error } }) {
  const bars = byDay(answer, (row) => row?.messages ?? 0, (value) => plural(value, "message"));
  return (
    <section class="panel">
      <h2>This month</h2>
      {!answer && !error && <Loading />}
      {error && <Empty>{error.status === 403 ? "Usage needs a key with the scope admin." : error.message}</Empty>}
      {answer && (answer.usage.length ? <Columns label="Messages by day" bars={bars} /> : <Empty>No message was counted this month. Counting takes some seconds.</Empty>)}
    </section>
  );
}
