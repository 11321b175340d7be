// A user's memories: a table to sort, filter and search, where each opens in its place.

import { useEffect, useState } from "preact/hooks";
import { submitted, useAct, usePages } from "../../answers.js";
import { api, segment } from "../../api.js";
import { Field, Select, same } from "../../parts/fields.jsx";
import { Icon } from "../../parts/icon.jsx";
import { Empty, More, Table } from "../../parts/lists.jsx";
import { announce } from "../../parts/outcome.jsx";
import { Badge, Share, Time, Topic } from "../../parts/words.jsx";
import { brief, stateOf, TYPES } from "./fields.js";
import { Forgetting } from "./forgetting.jsx";
import { Memory } from "./memory.jsx";
import { Saving } from "./saving.jsx";

const MOST_FOUND = 50;

const columns = (open, toggle) => [
  {
    name: "Memory", head: true, by: (memory) => memory.content,
    cell: (memory) => (
      <button class="opener" aria-expanded={open === memory.id} onClick={() => toggle(memory.id)}>
        <Icon name={open === memory.id ? "open" : "next"} size={14} />
        <span class="text" dir="auto">{brief(memory.content)}</span>
      </button>
    ),
  },
  { name: "Type", by: (memory) => memory.type, cell: (memory) => <Badge>{memory.type}</Badge> },
  { name: "Topic", by: (memory) => memory.topic_key, cell: (memory) => memory.topic_key && <Topic>{memory.topic_key}</Topic> },
  { name: "About", by: (memory) => memory.subject, cell: (memory) => memory.subject && <span dir="auto">{memory.subject}</span> },
  { name: "State", by: stateOf, cell: (memory) => <><Badge>{stateOf(memory)}</Badge>{memory.rests_on_changed && <> <Badge hue="yellow">rests on a change</Badge></>}</> },
  {
    name: "Importance", number: true, by: (memory) => memory.importance,
    cell: (memory) => memory.importance != null && <Share value={memory.importance} label="Importance" />,
  },
  { name: "Since", by: (memory) => memory.valid_from, cell: (memory) => <Time of={memory.valid_from} as="day" /> },
];

const UNFILTERED = { types: "", status: "current", topic_key: "", subject: "", min_importance: "" };

export function Memories({ user, query }) {
  const root = `/users/${segment(user)}/memories`;
  const [filter, set] = useState(UNFILTERED);
  const pages = usePages(root, "memories", { ...filter, limit: 50 }, [user, ...Object.values(filter)]);
  const [found, show] = useState(null);
  const [open, expand] = useState(query.get("memory"));
  const toggle = (id) => expand(open === id ? null : id);
  const named = useNamed(root, query.get("memory"));
  const listed = named ? [named, ...pages.rows.filter((memory) => memory.id !== named.id)] : pages.rows;
  const rows = found ?? listed;
  const detail = (memory) =>
    open === memory.id && <Memory root={root} memory={memory} changed={pages.again} close={() => expand(null)} />;
  return (
    <>
      <section class="panel tools">
        <Searching root={root} show={show} found={found} />
        {!found && <Filters filter={filter} set={set} />}
        <div class="folds">
          <Saving root={root} saved={pages.again} />
          <Forgetting root={root} forgotten={pages.again} />
        </div>
      </section>
      <Table className="memories" label="Memories" columns={columns(open, toggle)} rows={rows} id={(memory) => memory.id} detail={detail} />
      {found && !found.length && <Empty>Nothing was found.</Empty>}
      {!found && <More pages={pages} empty="No memory fits." />}
    </>
  );
}

/** The memory that the address names, so that it is shown on whatever page of the list it is. */
function useNamed(root, id) {
  const [memory, set] = useState(null);
  useEffect(() => {
    if (id) api("GET", `${root}/${segment(id)}`).then(set, (error) => announce(error.message, true));
  }, [root, id]);
  return memory;
}

function Searching({ root, show, found }) {
  const [act, busy] = useAct();
  const search = submitted(({ query }) => {
    if (!query) return show(null);
    const body = { query, mode: "keyword", k: MOST_FOUND, filter: { types: TYPES } };
    act(async () => show((await api("POST", `${root}/search`, { body })).memories));
  });
  return (
    <form class="bar" role="search" onSubmit={search}>
      <Field label="Search by words" name="query" type="search" wide />
      <button disabled={busy}><Icon name="search" /> Search</button>
      {found && <button type="reset" class="plain" onClick={() => show(null)}>Show all</button>}
    </form>
  );
}

function Filters({ filter, set }) {
  const change = (name) => (value) => set({ ...filter, [name]: value });
  const typed = (name) => (event) => change(name)(event.target.value);
  return (
    <div class="bar filters" role="group" aria-label="Filter">
      <Select label="Type" value={filter.types} onChange={change("types")} of={[["", "all"], ...same([...TYPES, "preference"])]} />
      <Select label="State" value={filter.status} onChange={change("status")} of={same(["current", "superseded"])} />
      <Field label="Topic" value={filter.topic_key} onChange={typed("topic_key")} />
      <Field label="About" value={filter.subject} onChange={typed("subject")} />
      <Select label="Importance" value={filter.min_importance} onChange={change("min_importance")}
        of={[["", "any"], ["0.5", "from 50 %"], ["0.7", "from 70 %"], ["0.9", "from 90 %"]]} />
    </div>
  );
}
