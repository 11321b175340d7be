// A question, and how its results were found and ranked.

import { useState } from "preact/hooks";
import { submitted, useAct } from "../answers.js";
import { api, segment } from "../api.js";
import { count, percent, plural } from "../figures.js";
import { Meter } from "../parts/bars.jsx";
import { Field } from "../parts/fields.jsx";
import { Icon } from "../parts/icon.jsx";
import { Empty } from "../parts/lists.jsx";
import { Badge, Id, Source, Text, Time, Topic } from "../parts/words.jsx";

const MOST_TERMS = 6;
const endOfDay = (date) => new Date(`${date}T23:59:59`).toISOString();

export function Recall({ user }) {
  const [found, show] = useState(null);
  const [act, busy] = useAct();
  const ask = submitted(({ query, as_of, k, answer }) => {
    const body = { query, k: Number(k) || 5, explain: true, answer: answer === "on" };
    if (as_of) body.as_of = endOfDay(as_of);
    act(async () => show(await api("POST", `/users/${segment(user)}/recall`, { body })));
  });
  return (
    <>
      <form class="panel bar" onSubmit={ask}>
        <Field label="Question" name="query" required wide autocomplete="off" />
        <Field label="As of" name="as_of" type="date" />
        <Field label="Results" name="k" type="number" min="1" max="50" defaultValue="5" />
        <label class="check"><input type="checkbox" name="answer" /> Answer it</label>
        <button disabled={busy}><Icon name="search" /> Recall</button>
      </form>
      {found && <Recalled key={found.recall_id} user={user} found={found} />}
    </>
  );
}

function Recalled({ user, found }) {
  const scale = scaleOf(found.trace?.ranking ?? []);
  const cut = (found.trace?.ranking ?? []).filter((place) => place.cut);
  return (
    <>
      {found.answer && <section class="panel"><h2>Answer</h2><Text>{found.answer}</Text></section>}
      {found.degraded.length > 0 && <p class="notice wrong"><Icon name="alert" /> Degraded: {found.degraded.join(", ")}</p>}
      <h2>Found</h2>
      {found.answerable != null && <p class="quiet">Likely to hold the answer: {percent(found.answerable)}</p>}
      {!found.memories.length && <Empty>Nothing fits this question.</Empty>}
      <ol class="results">
        {found.memories.map((memory) => (
          <li class="panel" key={memory.id}>
            <Result memory={memory} />
            {memory.type !== "message" && <Feedback user={user} recall={found.recall_id} memory={memory.id} />}
            <Places place={scale.places[memory.id]} scale={scale} />
          </li>
        ))}
      </ol>
      {cut.length > 0 && <Cut ranking={cut} scale={scale} />}
    </>
  );
}

/** Says whether a memory helped. A wrong one opens a review. */
function Feedback({ user, recall, memory }) {
  const [act, busy] = useAct();
  const [given, set] = useState(null);
  const path = `/users/${segment(user)}/recalls/${segment(recall)}/feedback`;
  const give = (opinion, done) => async () => {
    if (await act(() => api("POST", path, { body: { [opinion]: [memory] } }), done)) set(opinion);
  };
  return (
    <div class="bar" role="group" aria-label="Feedback">
      <button class="small" disabled={busy} aria-pressed={given === "useful"} onClick={give("useful", "It ranks a little higher now.")}>Useful</button>
      <button class="small" disabled={busy} aria-pressed={given === "wrong"} onClick={give("wrong", "A review is open.")}>Wrong</button>
    </div>
  );
}

/** A memory as recall gives it. */
export const Result = ({ memory }) => (
  <>
    <Text>{memory.content}</Text>
    <p class="facts">
      <Badge>{memory.type}</Badge>
      {memory.topic_key && <Topic>{memory.topic_key}</Topic>}
      <span>said by {memory.speaker}</span>
      {memory.when ? <span>{memory.when}</span> : <span>since <Time of={memory.valid_from} as="day" /></span>}
      {memory.times > 1 && <span>said {memory.times} times</span>}
      {memory.ended && <Badge>ended</Badge>}
      {memory.outdated_by && <Badge>outdated</Badge>}
      {memory.material && <Badge>material</Badge>}
      {memory.rests_on_changed && <Badge hue="yellow">rests on a change</Badge>}
      <Source of={memory.source} />
    </p>
  </>
);

const Cut = ({ ranking, scale }) => (
  <details>
    <summary>Ranked, and not shown ({ranking.length})</summary>
    <ol class="results">
      {ranking.map((place) => (
        <li class="panel" key={place.id}>
          <p class="facts"><Id>{place.id}</Id> <Badge hue="gray">{place.cut.replaceAll("_", " ")}</Badge></p>
          <Places place={scale.places[place.id]} scale={scale} />
        </li>
      ))}
    </ol>
  </details>
);

/** Each candidate's place, and the most that each retriever and the reranker gave. */
function scaleOf(ranking) {
  const most = {};
  for (const place of ranking)
    for (const [name, score] of Object.entries(place.retrievers)) most[name] = Math.max(most[name] ?? 0, score);
  const read = ranking.map((place) => place.signals.read).filter((score) => score != null);
  const places = Object.fromEntries(ranking.map((place, at) => [place.id, { ...place, at: at + 1 }]));
  return { most, places, read: Math.max(0, ...read) };
}

function Places({ place, scale }) {
  if (!place) return null;
  const reranker = place.signals.read;
  const moved = place.at === place.fused_place ? "left in its place" : `moved from ${place.fused_place} to ${place.at}`;
  const terms = Object.entries(place.terms)
    .filter(([name]) => name !== "constant")
    .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
    .slice(0, MOST_TERMS);
  return (
    <div class="places">
      <Meter label="score" value={place.score} most={1} />
      {Object.entries(place.retrievers).map(([name, score]) => <Meter key={name} label={name.replaceAll("_", " ")} value={score} most={scale.most[name]} />)}
      {reranker != null && <Meter label={`reranker: ${moved}`} value={reranker} most={scale.read} />}
      <p class="terms" title={`Place ${plural(place.at, "")}`}>
        {terms.map(([name, part]) => <span class={part < 0 ? "minus" : "plus"}>{name.replaceAll("_", " ")} {part > 0 ? "+" : ""}{count(Math.round(part * 100) / 100)}</span>)}
      </p>
    </div>
  );
}
