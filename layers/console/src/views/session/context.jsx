// A context as a model is sent it: its parts in one bar, each message, and the reason for each part.

import { useState } from "preact/hooks";
import { submitted, useAnswer } from "../../answers.js";
import { segment } from "../../api.js";
import { Field } from "../../parts/fields.jsx";
import { Icon } from "../../parts/icon.jsx";
import { Loaded } from "../../parts/lists.jsx";
import { Budget, remember, remembered } from "./budget.jsx";
import { Said } from "./said.jsx";

export function Context({ session }) {
  const [asked, ask] = useState({});
  const id = session.session_id;
  const path = `/sessions/${segment(id)}/context`;
  const [before] = useState(() => remembered(id));
  const context = useAnswer(path, { explain: true, after: before?.mark, ...asked }, [path, JSON.stringify(asked)]);
  return (
    <>
      <form class="panel bar" onSubmit={submitted(ask)}>
        <Field label="Budget in tokens" name="max_tokens" type="number" min="1" />
        <Field label="As it stood after message" name="at" type="number" min="1" />
        <button>Show</button>
      </form>
      <Loaded of={context}>
        {(found) => {
          if (!asked.at && !asked.max_tokens) remember(id, found.cache);
          return <Sent found={found} before={before} />;
        }}
      </Loaded>
    </>
  );
}

export const Sent = ({ found, before }) => (
  <>
    <Budget context={found} before={before} />
    {found.degraded.length > 0 && <p class="notice wrong"><Icon name="alert" /> Degraded: {found.degraded.join(", ")}</p>}
    {found.omitted && <p class="notice wrong"><Icon name="alert" /> Left out without a summary: messages {found.omitted.from} to {found.omitted.to}</p>}
    <h2>What the model is sent</h2>
    <ul class="messages">{found.messages.map((each) => <Said message={each} />)}</ul>
    {found.trace && <Why trace={found.trace} />}
  </>
);

const rangeOf = (part) => (part.from == null ? "" : part.from === part.to ? ` ${part.from}` : ` ${part.from} to ${part.to}`);
const SHOWN = 20;

function Why({ trace }) {
  const [all, show] = useState(false);
  const left = all ? trace.left_out : trace.left_out.slice(0, SHOWN);
  return (
    <div class="halves">
      <section class="panel">
        <h2>Why</h2>
        <ul class="rows">
          {trace.parts.map((part) => (
            <li class="said"><strong>{part.part.replaceAll("_", " ")}{rangeOf(part)}</strong><span class="quiet">{part.why}</span></li>
          ))}
        </ul>
      </section>
      <section class="panel">
        <h2>Left out</h2>
        {!left.length && <p class="quiet">Nothing.</p>}
        <ul class="rows">
          {left.map((part) => (
            <li class="said"><strong>{part.part.replaceAll("_", " ")}{rangeOf(part)}</strong> <code>{part.id}</code><span class="quiet">{part.why.replaceAll("_", " ")}</span></li>
          ))}
        </ul>
        {left.length < trace.left_out.length && <button class="small" onClick={() => show(true)}>Show all {trace.left_out.length}</button>}
      </section>
    </div>
  );
}
