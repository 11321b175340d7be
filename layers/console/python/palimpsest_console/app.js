// The memory console: one page over the API, with the key of whoever uses it. Everything from the API is shown as text.
"use strict";
(() => {
  const { html, render, useState, useEffect, useRef } = globalThis.preactWithHtm;
  const BASE = location.pathname.replace(/\/v1\/console\/?$/, "");
  const KEY = "palimpsest-key";
  const TYPES = ["fact", "event", "instruction", "task"];
  const SHORT = 2000; // characters of a text that are shown at first

  // --- The API ---------------------------------------------------------------------------------------------------

  class Problem extends Error {
    constructor(status, answer) {
      const fields = (answer.errors ?? []).map((each) => `${each.field}: ${each.message}`).join("; ");
      super([answer.detail ?? answer.message ?? `The service answered ${status}.`, fields].filter(Boolean).join(" "));
      this.status = status;
    }
  }

  async function api(method, path, { body, query } = {}) {
    const given = Object.entries(query ?? {}).filter(([, value]) => value !== "" && value != null);
    const asked = given.length ? `${path}?${new URLSearchParams(given)}` : path;
    const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY)}`, "Content-Type": "application/json" };
    if (method === "POST") headers["Idempotency-Key"] = crypto.randomUUID();
    const answer = await fetch(`${BASE}/v1${asked}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    let read = {};
    try {
      read = text ? JSON.parse(text) : {};
    } catch {
      read = { detail: `The service answered ${answer.status} with something that is not JSON.` };
    }
    if (!answer.ok) throw new Problem(answer.status, read);
    return read;
  }

  const segment = encodeURIComponent;

  async function settled(answer) {
    // A job that was begun: wait until it has ended.
    for (let job = answer; ; job = await api("GET", `/jobs/${segment(answer.job_id)}`, { query: { wait: 10 } })) {
      if (!job.job_id || !["pending", "running"].includes(job.state)) return job;
    }
  }

  // --- What all views share --------------------------------------------------------------------------------------

  const parse = () => {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    return { at: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
  };
  const link = (...at) => `#/${at.map(segment).join("/")}`;

  function usePlace() {
    const [place, go] = useState(parse);
    useEffect(() => {
      const moved = () => go(parse());
      addEventListener("hashchange", moved);
      return () => removeEventListener("hashchange", moved);
    }, []);
    return place;
  }

  let announce = () => {};

  function useAct() {
    // Runs what a user asked for: one thing at a time, and says what came of it.
    const [busy, set] = useState(false);
    const act = async (work, done) => {
      set(true);
      try {
        const made = await work();
        if (done) announce(done);
        return made;
      } catch (error) {
        announce(error.message, true);
      } finally {
        set(false);
      }
    };
    return [act, busy];
  }

  function useAnswer(path, query, deps) {
    const [state, set] = useState({});
    const again = () => {
      let stale = false;
      set((before) => ({ ...before, error: null }));
      api("GET", path, { query }).then(
        (answer) => stale || set({ answer }),
        (error) => stale || set({ error }),
      );
      return () => (stale = true);
    };
    useEffect(again, deps ?? [path]);
    return { ...state, again };
  }

  function usePages(path, name, query, deps) {
    // The rows of a list, page after page as they are asked for.
    const [state, set] = useState({ rows: [], next: null, loading: true });
    const run = useRef(0);
    const load = (cursor, before) => {
      const mine = ++run.current;
      set((old) => ({ ...old, loading: true, error: null }));
      api("GET", path, { query: { ...query, cursor } }).then(
        (answer) =>
          mine === run.current &&
          set({ rows: [...before, ...answer[name]], next: answer.next_cursor, loading: false }),
        (error) => mine === run.current && set({ rows: before, next: null, loading: false, error }),
      );
    };
    useEffect(() => load(null, []), deps ?? [path]);
    return { ...state, more: () => load(state.next, state.rows), again: () => load(null, []) };
  }

  const More = ({ pages, empty }) => html`
    ${pages.error && html`<p class="error" role="alert">${pages.error.message}</p>`}
    ${pages.loading && html`<p class="quiet">Loading …</p>`}
    ${!pages.loading && !pages.error && !pages.rows.length && html`<p class="quiet">${empty}</p>`}
    ${pages.next && !pages.loading && html`<button onClick=${pages.more}>More</button>`}
  `;

  const Loaded = ({ of, children }) =>
    of.error
      ? html`<p class="error" role="alert">${of.error.message}</p>`
      : of.answer
        ? children(of.answer)
        : html`<p class="quiet">Loading …</p>`;

  function Text({ children }) {
    // Stored text: isolated from the text around it, and long texts only as far as one asks.
    const [all, show] = useState(false);
    const text = typeof children === "string" ? children : JSON.stringify(children, null, 2);
    const long = text.length > SHORT && !all;
    return html`<div class="text" dir="auto">${long ? text.slice(0, SHORT) : text}</div>
      ${long && html`<button class="small" onClick=${() => show(true)}>Show all ${text.length} characters</button>`}`;
  }

  const time = (given) =>
    given ? html`<time datetime=${given}>${given.replace("T", " ").replace(/(\.\d+)?Z$/, "")}</time>` : "–";
  const number = (given) => (typeof given === "number" ? String(Math.round(given * 1000) / 1000) : "–");
  const Tag = ({ children }) => html`<span class="tag">${children}</span>`;

  function Meter({ label, value, least = 0, most, of = false }) {
    const share = most > least ? Math.min(1, Math.max(0, (value - least) / (most - least))) : 0;
    return html`<div class="meter">
      <span>${label}</span>
      <span class="bar" role="meter" aria-label=${label} aria-valuenow=${value} aria-valuemin=${least} aria-valuemax=${most}
        ><span class="fill" style=${{ width: `${share * 100}%` }}></span
      ></span>
      <span class="value">${number(value)}${of ? ` of ${most}` : ""}</span>
    </div>`;
  }

  function Field({ label, ...input }) {
    return html`<label>${label}<input ...${input} /></label>`;
  }

  function Select({ label, of, value, onInput }) {
    return html`<label
      >${label}<select value=${value} onInput=${(event) => onInput(event.target.value)}>
        ${of.map(([name, shown]) => html`<option value=${name} selected=${name === value}>${shown}</option>`)}
      </select></label
    >`;
  }

  const submitted = (use) => (event) => {
    event.preventDefault();
    use(Object.fromEntries(new FormData(event.target)), event.target);
  };

  const Source = ({ of }) =>
    of?.session_id
      ? html`<a href="${link("sessions", of.session_id)}${of.seqs.length ? `?seq=${of.seqs[0]}` : ""}">said in ${of.session_id}</a>`
      : null;

  // --- Users and their memories ----------------------------------------------------------------------------------

  function Users() {
    const pages = usePages("/users", "users", { counts: true, limit: 25 });
    return html`<h1>Users</h1>
      <form class="row" onSubmit=${submitted(({ user }) => user && (location.hash = link("users", user)))}>
        <${Field} label="Open a user by id" name="user" required /><button>Open</button>
      </form>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">User</th><th scope="col">Memories</th><th scope="col">Sessions</th>
              <th scope="col">Last activity</th>
            </tr>
          </thead>
          <tbody>
            ${pages.rows.map(
              (user) => html`<tr key=${user.user_id}>
                <th scope="row"><a href=${link("users", user.user_id)}>${user.user_id}</a></th>
                <td>${user.memories?.total ?? "–"}</td>
                <td>${user.sessions?.total ?? "–"}</td>
                <td>${time(user.last_activity)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <${More} pages=${pages} empty="No user has a session or a memory yet." />`;
  }

  const TABS = [
    ["memories", "Memories"], ["profile", "Profile"], ["sessions", "Sessions"], ["recall", "Recall"],
    ["preferences", "Preferences"], ["graph", "Graph"], ["jobs", "Jobs"],
  ];

  function User({ user, tab, query }) {
    const views = {
      memories: Memories, profile: Profile, sessions: Sessions, recall: Recall, preferences: Preferences, graph: Graph,
      jobs: Jobs,
    };
    const View = views[tab];
    return html`<h1 dir="auto">${user}</h1>
      <nav class="tabs" aria-label="Of this user">
        ${TABS.map(
          ([name, shown]) =>
            html`<a href=${link("users", user, name)} aria-current=${name === tab ? "page" : null}>${shown}</a>`,
        )}
      </nav>
      ${View ? html`<${View} key=${`${user}/${tab}`} user=${user} query=${query} />` : html`<p>There is no such view.</p>`}`;
  }

  function Memories({ user }) {
    const root = `/users/${segment(user)}/memories`;
    const [filter, set] = useState({ types: "", status: "current", topic_key: "", subject: "" });
    const [words, look] = useState("");
    const pages = usePages(root, "memories", { ...filter, limit: 25 }, [user, ...Object.values(filter)]);
    const [found, show] = useState(null);
    const [act, busy] = useAct();
    const change = (name) => (value) => set({ ...filter, [name]: value });
    const search = submitted(({ query }) => {
      look(query);
      if (!query) return show(null);
      act(async () =>
        show((await api("POST", `${root}/search`, { body: { query, mode: "keyword", k: 50, filter: { types: TYPES } } })).memories),
      );
    });
    const rows = found ?? pages.rows;
    return html`
      <form class="row" role="search" onSubmit=${search}>
        <${Field} label="Search by words" name="query" type="search" defaultValue=${words} />
        <button disabled=${busy}>Search</button>
        ${found && html`<button type="button" onClick=${() => show(null)}>Show all</button>`}
      </form>
      ${!found &&
      html`<div class="row">
        <${Select} label="Type" value=${filter.types} onInput=${change("types")}
          of=${[["", "all"], ...TYPES.map((type) => [type, type])]} />
        <${Select} label="State" value=${filter.status} onInput=${change("status")}
          of=${[["current", "current"], ["superseded", "superseded"]]} />
        <${Field} label="Topic" value=${filter.topic_key} onChange=${(event) => change("topic_key")(event.target.value)} />
        <${Field} label="Subject" value=${filter.subject} onChange=${(event) => change("subject")(event.target.value)} />
      </div>`}
      <${Saving} root=${root} saved=${pages.again} />
      <${Forgetting} root=${root} forgotten=${pages.again} />
      <ul class="cards">
        ${rows.map(
          (memory) => html`<${Memory} key=${memory.id} root=${root} memory=${memory} changed=${pages.again} />`,
        )}
      </ul>
      ${found
        ? !found.length && html`<p class="quiet">Nothing was found.</p>`
        : html`<${More} pages=${pages} empty="Nothing is remembered that fits." />`}
    `;
  }

  function Saving({ root, saved }) {
    const [act, busy] = useAct();
    const save = submitted(async ({ type, content, topic_key }, form) => {
      const memory = topic_key ? { type, content, topic_key } : { type, content };
      if (await act(() => api("POST", root, { body: { memories: [memory] } }), "Saved.")) {
        form.reset();
        saved();
      }
    });
    return html`<details>
      <summary>Save a memory</summary>
      <form onSubmit=${save}>
        <label>Type<select name="type">${TYPES.map((type) => html`<option>${type}</option>`)}</select></label>
        <label>Content<textarea name="content" required></textarea></label>
        <${Field} label="Topic (a newer fact of the same topic replaces the older one)" name="topic_key" />
        <button disabled=${busy}>Save</button>
      </form>
    </details>`;
  }

  function Forgetting({ root, forgotten }) {
    const [act, busy] = useAct();
    const [would, show] = useState(null);
    const filterOf = ({ types, subject, created_before }) => ({
      ...(types ? { types: [types] } : {}),
      ...(subject ? { subject } : {}),
      ...(created_before ? { created_before: `${created_before}T00:00:00Z` } : {}),
    });
    const forget = submitted(async (given) => {
      const filter = filterOf(given);
      const made = await act(() => api("POST", `${root}/forget`, { body: { filter, dry_run: true } }));
      if (made) show({ ...made, filter });
    });
    const really = async () => {
      const begun = () => api("POST", `${root}/forget`, { body: { filter: would.filter, wait: 10 } });
      await act(async () => settled(await begun()), "Forgotten.");
      show(null);
      forgotten();
    };
    return html`<details>
      <summary>Forget by filter</summary>
      <form class="row" onSubmit=${forget}>
        <label>Type<select name="types"><option value="">any</option>${TYPES.map((type) => html`<option>${type}</option>`)}</select></label>
        <${Field} label="Subject" name="subject" />
        <${Field} label="Created before" name="created_before" type="date" />
        <button disabled=${busy}>Try (dry run)</button>
      </form>
      ${would &&
      html`<p>
        ${would.count} ${would.count === 1 ? "memory" : "memories"} would be forgotten, with all versions.
        ${would.count > 0 && html` <button class="danger" disabled=${busy} onClick=${really}>Forget for good</button>`}
        <button onClick=${() => show(null)}>Keep</button>
      </p>`}
    </details>`;
  }

  function Memory({ root, memory, changed }) {
    const [view, show] = useState(null);
    const [act, busy] = useAct();
    const path = `${root}/${segment(memory.id)}`;
    const stored = "status" in memory; // a result of a search says less
    const toggle = (name) => () => show(view === name ? null : name);
    const edit = submitted(async ({ content }) => {
      if (await act(() => api("PATCH", path, { body: { content } }), "A new version was saved.")) {
        show(null);
        changed();
      }
    });
    const remove = async () => {
      if (await act(() => api("DELETE", path), "Deleted.")) changed();
    };
    return html`<li class="card">
      <${Text}>${memory.content}<//>
      <p class="notes">
        <${Tag}>${memory.type}<//> said by ${memory.speaker}${memory.topic_key && html` <${Tag}>${memory.topic_key}<//>`}
        ${memory.status === "superseded" && html` <${Tag}>${memory.ended ? "ended" : "superseded"}<//>`} since ${time(memory.ended ? memory.valid_to : memory.valid_from)}
        ${memory.rests_on_changed && html` · <${Tag}>rests on something that changed<//>`}
        ${memory.importance != null && html` · importance ${number(memory.importance)}`} <${Source} of=${memory.source} />
      </p>
      <div class="row">
        ${memory.status !== "superseded" &&
        html`<button class="small" aria-expanded=${view === "edit"} onClick=${toggle("edit")}>Edit</button>`}
        <button class="small" aria-expanded=${view === "history"} onClick=${toggle("history")}>History</button>
        <button class="small" aria-expanded=${view === "delete"} onClick=${toggle("delete")}>Delete</button>
      </div>
      ${view === "edit" &&
      html`<form onSubmit=${edit}>
        <label>New content<textarea name="content" required>${memory.content}</textarea></label>
        <button disabled=${busy}>Save as a new version</button>
      </form>`}
      ${view === "history" && html`<${History} root=${root} path=${path} changed=${changed} />`}
      ${view === "delete" &&
      html`<p>This version is removed for good. <button class="danger" disabled=${busy} onClick=${remove}>Delete for good</button></p>`}
      ${!stored && memory.source?.quote && html`<blockquote dir="auto">${memory.source.quote}</blockquote>`}
    </li>`;
  }

  function History({ root, path, changed }) {
    const pages = usePages(`${path}/history`, "versions", { limit: 50 });
    const [act, busy] = useAct();
    const revert = (version) => async () => {
      if (await act(() => api("POST", `${root}/${segment(version.id)}/revert`), "Its content is current again.")) changed();
    };
    return html`<ol class="timeline" aria-label="Versions, the newest first">
        ${pages.rows.map(
          (version) => html`<li key=${version.id}>
            <${Text}>${version.content}<//>
            <p class="notes">
              version ${version.version}, ${time(version.valid_from)} to ${version.valid_to ? time(version.valid_to) : "now"}
              ${" "}<${Source} of=${version.source} />
              ${version.status === "superseded" &&
              html` <button class="small" disabled=${busy} onClick=${revert(version)}>Make current again</button>`}
            </p>
          </li>`,
        )}
      </ol>
      <${More} pages=${pages} empty="It has no history." />`;
  }

  const SECTIONS = {
    who: "Who", health: "Health", work: "Work", likes: "Likes", more: "More", instructions: "Instructions",
    preferences: "Preferences", people: "People", tasks: "Open tasks",
  };

  function Profile({ user }) {
    const found = useAnswer(`/users/${segment(user)}/profile`);
    return html`<${Loaded} of=${found}
      >${(profile) => html`
        ${profile.sections.map(
          (section) => html`<section key=${section.kind}>
            <h2>${SECTIONS[section.kind] ?? section.kind}</h2>
            <ul class="cards">
              ${section.lines.map(
                (line) => html`<li class="card" key=${line.memory_id}>
                  <${Text}>${line.text}<//>
                  <p class="notes" dir="auto">
                    ${line.subject && html`<${Tag}>${line.subject}<//> `}${line.topic_key && html`<${Tag}>${line.topic_key}<//> `}
                    ${line.due_at && html`until ${time(line.due_at)} `}${line.memory_id}
                  </p>
                </li>`,
              )}
            </ul>
          </section>`,
        )}
        <p class="quiet">
          ${profile.sections.length ? `${profile.tokens} tokens.` : "Nothing is known of this user."}
          ${profile.complete ? "" : " The tokens were too few for all that is known."}
        </p>`}<//
    >`;
  }

  function Preferences({ user }) {
    const root = `/users/${segment(user)}/preferences`;
    const pages = usePages(root, "preferences", { limit: 100 });
    const [act, busy] = useAct();
    const save = submitted(async ({ key, value }, form) => {
      const put = () => {
        let read;
        try {
          read = JSON.parse(value);
        } catch {
          read = value;
        }
        return api("PUT", `${root}/${segment(key)}`, { body: { value: read } });
      };
      if (await act(put, "Saved.")) {
        form.reset();
        pages.again();
      }
    });
    const remove = (key) => async () => {
      if (await act(() => api("DELETE", `${root}/${segment(key)}`), "Deleted.")) pages.again();
    };
    return html`<form class="row" onSubmit=${save}>
        <${Field} label="Key" name="key" required />
        <${Field} label="Value (JSON, or a text)" name="value" required />
        <button disabled=${busy}>Save</button>
      </form>
      <ul class="cards">
        ${pages.rows.map(
          (each) => html`<li class="card" key=${each.key}>
            <p><${Tag}>${each.key}<//></p>
            <${Text}>${each.value}<//>
            <button class="small" disabled=${busy} onClick=${remove(each.key)}>Delete ${each.key}</button>
          </li>`,
        )}
      </ul>
      <${More} pages=${pages} empty="This user has no preferences." />`;
  }

  // --- The knowledge graph -----------------------------------------------------------------------------------------

  const AROUND = [["1", "1 step"], ["2", "2 steps"], ["3", "3 steps"], ["4", "4 steps"]];
  const SHOWN = 40;

  function Graph({ user }) {
    const root = `/users/${segment(user)}/graph`;
    const [centre, go] = useState({ id: user, name: user, type: "User" });
    const [depth, deepen] = useState("2");
    const found = useAnswer(`${root}/entities/${segment(centre.id)}/neighbors`, { depth, limit: SHOWN }, [centre.id, depth]);
    const [act, busy] = useAct();
    const remove = (what, id) => async () => {
      if (await act(() => api("DELETE", `${root}/${what}/${segment(id)}`), "Deleted.")) found.again();
    };
    const goes = (node) => (node.type === "Preference" ? null : () => go(node));
    return html`<div class="row">
        <${Select} label="Around ${centre.name}" of=${AROUND} value=${depth} onInput=${deepen} />
        ${centre.id !== user && html`<button onClick=${() => go({ id: user, name: user, type: "User" })}>Back to the user</button>`}
      </div>
      <${Loaded} of=${found}
        >${(answer) => {
          const name = Object.fromEntries([centre, ...answer.entities].map((node) => [node.id, node.name]));
          return html`<${Drawn} centre=${centre} found=${answer} goes=${goes} />
            ${!answer.is_whole && html`<p class="notes">There is more: the nearest ${SHOWN} are drawn.</p>`}
            ${!answer.entities.length && html`<p class="quiet">Nothing is related to it.</p>`}
            <ul class="cards">
              ${answer.relationships.map(
                (edge) => html`<li class="card" key=${edge.id}>
                  <p dir="auto">${name[edge.from]} <${Tag}>${edge.type}<//> ${name[edge.to]}</p>
                  <p class="notes">since ${time(edge.valid_from)} <${Source} of=${edge.source} /></p>
                  ${edge.type !== "PREFERS" &&
                  html`<button class="small" disabled=${busy} onClick=${remove("relationships", edge.id)}>Delete</button>`}
                </li>`,
              )}
            </ul>`;
        }}<//
      >
      <${Cypher} root=${root} />`;
  }

  function Drawn({ centre, found, goes }) {
    // Rings around the centre, one for each step; the same in words stands below.
    const at = { [centre.id]: [0, 0] };
    const rings = Math.max(1, ...found.entities.map((node) => node.depth));
    for (let ring = 1; ring <= rings; ring++) {
      const there = found.entities.filter((node) => node.depth === ring);
      there.forEach((node, place) => {
        const angle = ((place + (ring % 2) / 2) / there.length) * 2 * Math.PI;
        at[node.id] = [Math.cos(angle) * ring * 150, Math.sin(angle) * ring * 110];
      });
    }
    const [wide, high] = [rings * 150 + 90, rings * 110 + 40];
    const short = (text) => (text.length > 22 ? `${text.slice(0, 21)}…` : text);
    return html`<svg class="graph" role="img" aria-label="The graph around ${centre.name}" viewBox=${`${-wide} ${-high} ${2 * wide} ${2 * high}`}>
      ${found.relationships
        .filter((edge) => at[edge.from] && at[edge.to])
        .map((edge) => {
          const [[x1, y1], [x2, y2]] = [at[edge.from], at[edge.to]];
          return html`<g key=${edge.id}>
            <line x1=${x1} y1=${y1} x2=${x2} y2=${y2} />
            <text class="edge" x=${(x1 + x2) / 2} y=${(y1 + y2) / 2 - 4}>${short(edge.type)}</text>
          </g>`;
        })}
      ${[centre, ...found.entities].map(
        (node) => html`<g key=${node.id} class=${goes(node) ? "node open" : "node"} onClick=${goes(node)}>
          <circle cx=${at[node.id][0]} cy=${at[node.id][1]} r="9" />
          <text x=${at[node.id][0]} y=${at[node.id][1] + 24}>${short(node.name)}</text>
          <title>${node.type}: ${node.name}</title>
        </g>`,
      )}
    </svg>`;
  }

  function Cypher({ root }) {
    const [found, show] = useState(null);
    const [act, busy] = useAct();
    const run = submitted(({ cypher }) => act(async () => show(await api("POST", `${root}/query`, { body: { cypher } }))));
    return html`<h2>Query in Cypher</h2>
      <form onSubmit=${run}>
        <label>Query<textarea name="cypher" required>MATCH (u:User {id: $userId})-[r]->(n) RETURN label(r), n.name LIMIT 25</textarea></label>
        <button disabled=${busy}>Run</button>
      </form>
      ${found &&
      html`<div class="wide"><table>
        <thead><tr>${found.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${found.rows.map((row) => html`<tr>${row.map((value) => html`<td dir="auto">${typeof value === "string" ? value : JSON.stringify(value)}</td>`)}</tr>`)}</tbody>
      </table></div>`}`;
  }

  // --- Sessions --------------------------------------------------------------------------------------------------

  function Sessions({ user }) {
    const [words, look] = useState("");
    const query = { user_id: user, q: user ? words : "", limit: 25 };
    const pages = usePages("/sessions", "sessions", query, [user, words]);
    return html`${user
        ? html`<form class="row" role="search" onSubmit=${submitted(({ q }) => look(q))}>
            <${Field} label="Words that were said" name="q" type="search" /><button>Search</button>
          </form>`
        : html`<h1>Sessions</h1>`}
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Session</th><th scope="col">User</th><th scope="col">Messages</th>
              <th scope="col">Window</th><th scope="col">State</th><th scope="col">Last written</th>
            </tr>
          </thead>
          <tbody>
            ${pages.rows.map(
              (session) => html`<tr key=${session.session_id}>
                <th scope="row"><a href=${link("sessions", session.session_id)}>${session.session_id}</a></th>
                <td><a href=${link("users", session.user_id)}>${session.user_id}</a></td>
                <td>${session.totals.messages}</td>
                <td>${session.window.tokens} of ${session.window.max_tokens} tokens</td>
                <td>${session.status}</td>
                <td>${time(session.updated_at)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <${More} pages=${pages} empty="There is no session yet." />`;
  }

  function Session({ id, tab, query }) {
    const session = useAnswer(`/sessions/${segment(id)}`);
    const tabs = [["messages", "Messages"], ["context", "Context as sent"], ["compactions", "Compactions"], ["settings", "Settings"]];
    const View = { messages: Messages, context: Context, compactions: Compactions, settings: Configured }[tab];
    return html`<h1>${id}</h1>
      <${Loaded} of=${session}>
        ${(found) => html`<p class="notes">
            of <a href=${link("users", found.user_id)}>${found.user_id}</a> · ${found.status} · ${found.totals.messages} messages,
            ${" "}${found.totals.tokens} tokens · strategy ${found.memory.strategy} · compaction ${found.compaction}
          </p>
          <${Meter} label="Window against its budget, in tokens" value=${found.window.tokens} most=${found.window.max_tokens} of />
          <nav class="tabs" aria-label="Of this session">
            ${tabs.map(
              ([name, shown]) =>
                html`<a href=${link("sessions", id, name)} aria-current=${name === tab ? "page" : null}>${shown}</a>`,
            )}
          </nav>
          ${View && html`<${View} key=${`${id}/${tab}`} session=${found} query=${query} />`}`}
      <//>`;
  }

  const MARKS = [
    ["material", "material, not testimony"],
    ["off_record", "off the record"],
    ["hidden", "in part deleted"],
  ];

  const Said = ({ message, marked }) => {
    const here = useRef();
    useEffect(() => {
      if (marked) here.current.scrollIntoView({ block: "center" });
    }, [marked]);
    return html`<li class=${marked ? "card marked" : "card"} ref=${here}>
      <p class="notes">
        ${message.seq != null && html`#${message.seq} `}<strong>${message.role}</strong>
        ${message.tokens != null && html` · ${message.tokens} tokens`} ${message.created_at && time(message.created_at)}
        ${MARKS.filter(([name]) => message[name]).map(([name, shown]) => html` · <${Tag} key=${name}>${shown}<//>`)}
      </p>
      ${message.content != null && html`<${Text}>${message.content}<//>`}
      ${message.tool_calls && html`<${Text}>${message.tool_calls}<//>`}
    </li>`;
  };

  function Messages({ session, query }) {
    const root = `/sessions/${segment(session.session_id)}/messages`;
    const wanted = Number(query.get("seq")) || null;
    const pages = usePages(root, "messages", { order: "desc", limit: 50 });
    const one = useOne(wanted && `${root}/${wanted}`);
    const there = pages.rows.some((each) => each.seq === wanted);
    return html`${one && !there && html`<ul class="cards" aria-label="The source">${html`<${Said} message=${one} marked />`}</ul>`}
      <ul class="cards" aria-label="Messages, the newest first">
        ${pages.rows.map((each) => html`<${Said} key=${each.seq} message=${each} marked=${each.seq === wanted} />`)}
      </ul>
      <${More} pages=${pages} empty="Nothing was said yet." />`;
  }

  function useOne(path) {
    const [one, set] = useState(null);
    useEffect(() => {
      set(null);
      if (path) api("GET", path).then(set, (error) => announce(error.message, true));
    }, [path]);
    return one;
  }

  function Context({ session }) {
    const [asked, ask] = useState({});
    const path = `/sessions/${segment(session.session_id)}/context`;
    const context = useAnswer(path, { explain: true, ...asked }, [path, JSON.stringify(asked)]);
    return html`<form class="row" onSubmit=${submitted(ask)}>
        <${Field} label="Budget in tokens" name="max_tokens" type="number" min="1" />
        <${Field} label="As it stood after message" name="at" type="number" min="1" />
        <button>Show</button>
      </form>
      <${Loaded} of=${context}>
        ${(found) => html`
          <${Meter} label="Context against its budget, in tokens" value=${found.tokens.total} most=${found.tokens.budget} of />
          ${Object.entries(found.tokens.parts).map(
            ([part, tokens]) => html`<${Meter} label=${part} value=${tokens} most=${found.tokens.budget} />`,
          )}
          ${found.degraded.length > 0 && html`<p class="error">Degraded: ${found.degraded.join(", ")}</p>`}
          ${found.omitted && html`<p class="error">Left out without a summary: messages ${found.omitted.from} to ${found.omitted.to}</p>`}
          <h2>What the model is sent</h2>
          <ul class="cards">${found.messages.map((each) => html`<${Said} message=${each} />`)}</ul>
          ${found.trace &&
          html`<h2>Why</h2>
            <ul>
              ${found.trace.parts.map(
                (part) => html`<li>
                  <strong>${part.part}</strong>${part.from != null && html` ${part.from} to ${part.to}`}
                  ${part.tokens != null && html` (${part.tokens} tokens)`}: ${part.why}
                </li>`,
              )}
            </ul>
            <h2>Left out</h2>
            ${found.trace.left_out.length
              ? html`<ul>
                  ${found.trace.left_out.map(
                    (part) => html`<li>
                      <strong>${part.part}</strong> ${part.id ?? (part.from != null ? `${part.from} to ${part.to}` : "")}: ${part.why}
                    </li>`,
                  )}
                </ul>`
              : html`<p class="quiet">Nothing.</p>`}`}
        `}
      <//>`;
  }

  function Compactions({ session }) {
    const root = `/sessions/${segment(session.session_id)}/compactions`;
    const pages = usePages(root, "compactions", { limit: 25 });
    return html`<ul class="cards">
        ${pages.rows.map(
          (each) => html`<li class="card" key=${each.n}>
            <p class="notes">
              messages ${each.from} to ${each.to} · ${each.method}${each.model ? ` (${each.model})` : ""} ·
              ${" "}${each.tokens_before} → ${each.tokens_after} tokens · ${time(each.created_at)}
            </p>
            <${Text}>${each.summary ?? ""}<//>
            <${Unfolded} path=${`${root}/${each.n}/messages`} />
          </li>`,
        )}
      </ul>
      <${More} pages=${pages} empty="Nothing was folded yet." />`;
  }

  function Unfolded({ path }) {
    const [open, set] = useState(false);
    return html`<button class="small" aria-expanded=${open} onClick=${() => set(!open)}>${open ? "Fold" : "Unfold"}</button>
      ${open && html`<${Folded} path=${path} />`}`;
  }

  function Folded({ path }) {
    const pages = usePages(path, "messages", { limit: 50 });
    return html`<ul class="cards">${pages.rows.map((each) => html`<${Said} key=${each.seq} message=${each} />`)}</ul>
      <${More} pages=${pages} empty="Nothing is left of it." />`;
  }

  const Configured = ({ session }) =>
    html`<h2>Memory</h2><${Text}>${session.memory}<//><h2>System message</h2><${Text}>${session.system ?? "none"}<//>
      <h2>Metadata</h2><${Text}>${session.metadata}<//>`;

  // --- Recall ----------------------------------------------------------------------------------------------------

  function Recall({ user }) {
    const [found, show] = useState(null);
    const [act, busy] = useAct();
    const ask = submitted(({ query, as_of, k, answer }) => {
      const body = { query, k: Number(k) || 5, explain: true, answer: answer === "on" };
      if (as_of) body.as_of = `${as_of}T23:59:59Z`;
      act(async () => show(await api("POST", `/users/${segment(user)}/recall`, { body })));
    });
    return html`<form class="row" onSubmit=${ask}>
        <${Field} label="Question" name="query" required />
        <${Field} label="As of" name="as_of" type="date" />
        <${Field} label="Results" name="k" type="number" min="1" max="50" defaultValue="5" />
        <label class="check"><input type="checkbox" name="answer" /> Answer it</label>
        <button disabled=${busy}>Recall</button>
      </form>
      ${found && html`<${Recalled} found=${found} />`}`;
  }

  function Recalled({ found }) {
    const ranking = found.trace?.ranking ?? [];
    const of = Object.fromEntries(ranking.map((place, at) => [place.id, { ...place, at: at + 1 }]));
    const read = ranking.map((place) => place.signals.read).filter((score) => score != null);
    const most = {};
    for (const place of ranking)
      for (const [name, score] of Object.entries(place.retrievers)) most[name] = Math.max(most[name] ?? 0, score);
    return html`
      ${found.answer && html`<h2>Answer</h2><${Text}>${found.answer}<//>`}
      ${found.degraded.length > 0 && html`<p class="error">Degraded: ${found.degraded.join(", ")}</p>`}
      <h2>Found</h2>
      ${!found.memories.length && html`<p class="quiet">Nothing fits.</p>`}
      <ol class="cards">
        ${found.memories.map(
          (memory) => html`<li class="card" key=${memory.id}>
            <${Text}>${memory.content}<//>
            <p class="notes">
              <${Tag}>${memory.type}<//> said by ${memory.speaker} · score ${number(memory.score)} · ${memory.when ?? html`since ${time(memory.valid_from)}`}
              ${memory.times > 1 && html` · said ${memory.times} times`}
              ${memory.outdated_by && html` · <${Tag}>outdated<//>`}
              ${memory.rests_on_changed && html` · <${Tag}>rests on something that changed<//>`} <${Source} of=${memory.source} />
            </p>
            <${Places} place=${of[memory.id]} most=${most} read=${read} />
          </li>`,
        )}
      </ol>
      ${ranking.some((place) => place.cut) &&
      html`<details>
        <summary>Ranked, and not shown</summary>
        <ol class="cards">
          ${ranking
            .filter((place) => place.cut)
            .map(
              (place) => html`<li class="card" key=${place.id}>
                <p>${place.id}: ${place.cut}</p>
                <${Places} place=${of[place.id]} most=${most} read=${read} />
              </li>`,
            )}
        </ol>
      </details>`}
    `;
  }

  function Places({ place, most, read }) {
    if (!place) return null;
    const reranker = place.signals.read;
    const moved = place.at === place.fused_place ? "left it in its place" : `moved it from place ${place.fused_place} to ${place.at}`;
    return html`<div>
      ${Object.entries(place.retrievers).map(
        ([name, score]) => html`<${Meter} key=${name} label=${name} value=${score} most=${most[name]} />`,
      )}
      ${reranker != null &&
      html`<${Meter} label=${`reranker: ${moved}`} value=${reranker} most=${Math.max(...read)} />`}
      <p class="notes">
        ${Object.entries(place.terms).map(([name, part]) => `${name} ${number(part)}`).join(" · ")}
      </p>
    </div>`;
  }

  // --- Jobs, settings --------------------------------------------------------------------------------------------

  function Jobs({ user }) {
    const [state, set] = useState(user ? "" : "failed");
    const query = { user_id: user, state, limit: 25 };
    const pages = usePages("/jobs", "jobs", query, [user, state]);
    return html`${!user && html`<h1>Jobs</h1>`}
      <${Select} label="State" value=${state} onInput=${set}
        of=${[...(user ? [["", "all"]] : []), ...["failed", "pending", "running", "done"].map((name) => [name, name])]} />
      <ul class="cards">
        ${pages.rows.map((job) => html`<${Job} key=${job.job_id} job=${job} />`)}
      </ul>
      <${More} pages=${pages} empty="There is no job here." />`;
  }

  function Job({ job }) {
    const [open, set] = useState(false);
    const [act, busy] = useAct();
    const retry = () => act(() => api("POST", `/jobs/${segment(job.job_id)}/retry`), "It is tried again.");
    return html`<li class="card">
      <p>
        <strong>${job.kind}</strong> <${Tag}>${job.state}<//> ${time(job.created_at)}
        ${job.session_id && html` <a href=${link("sessions", job.session_id)}>${job.session_id}</a>`}
      </p>
      ${job.error && html`<p class="error">${typeof job.error === "string" ? job.error : JSON.stringify(job.error)}</p>`}
      <div class="row">
        <button class="small" aria-expanded=${open} onClick=${() => set(!open)}>Ledger</button>
        ${job.state === "failed" && html`<button class="small" disabled=${busy} onClick=${retry}>Try again</button>`}
      </div>
      ${open && html`<${Ledger} id=${job.job_id} />`}
    </li>`;
  }

  const Ledger = ({ id }) =>
    html`<${Loaded} of=${useAnswer(`/jobs/${segment(id)}`)}>${(job) => html`<${Text}>${job}<//>`}<//>`;

  const USED = [
    ["messages", "messages"], ["bytes", "bytes"], ["model_calls", "model calls"], ["tokens_in", "tokens in"],
    ["tokens_out", "tokens out"], ["embedding_calls", "embeddings"], ["cost_usd", "US$"],
  ];

  function Usage() {
    const [by, set] = useState("day");
    const pages = usePages("/usage", "usage", { by, limit: 100 }, [by]);
    return html`<h1>Usage of this month</h1>
      <p class="notes">Needs a key with the scope admin. Messages take some seconds to be counted.</p>
      <${Select} label="By" value=${by} onInput=${set} of=${["day", "user", "tenant"].map((name) => [name, name])} />
      <div class="scroll"><table>
        <thead><tr><th scope="col">${by}</th>${USED.map(([, shown]) => html`<th scope="col">${shown}</th>`)}</tr></thead>
        <tbody>
          ${pages.rows.map(
            (row) => html`<tr><td>${row.day ?? row.user_id ?? (by === "user" ? "erased users" : "all")}</td>
              ${USED.map(([name]) => html`<td>${name === "cost_usd" ? row[name].toFixed(6) : row[name].toLocaleString()}</td>`)}</tr>`,
          )}
        </tbody>
      </table></div>
      <${More} pages=${pages} empty="Nothing was used." />`;
  }

  function Settings() {
    const settings = useAnswer("/settings");
    const [act, busy] = useAct();
    const save = submitted(({ settings: text }) =>
      act(async () => {
        await api("PUT", "/settings", { body: JSON.parse(text) });
        settings.again();
      }, "Saved."),
    );
    const given = ({ retention_job: _, ...own }) => JSON.stringify(own, null, 2);
    return html`<h1>Settings</h1>
      <${Loaded} of=${settings}>
        ${(found) => html`<form onSubmit=${save}>
            <label>The tenant's defaults (JSON; changing them needs the scope admin)<textarea name="settings" rows="14" spellcheck="false">${given(found)}</textarea></label>
            <button disabled=${busy}>Save</button>
          </form>
          ${found.retention_job && html`<${Text}>${found.retention_job}<//>`}`}
      <//>
      <${StaticFacts} />`;
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
    return html`<h2>Static facts</h2>
      <form class="row" onSubmit=${save}>
        <${Field} label="Id" name="id" required /><${Field} label="Content" name="content" required />
        <button disabled=${busy}>Save</button>
      </form>
      <ul class="cards">
        ${pages.rows.map(
          (fact) => html`<li class="card" key=${fact.id}>
            <${Text}>${fact.content}<//>
            <p class="notes">${fact.id} · ${time(fact.updated_at)}</p>
            <button class="small" disabled=${busy} onClick=${remove(fact.id)}>Delete ${fact.id}</button>
          </li>`,
        )}
      </ul>
      <${More} pages=${pages} empty="The tenant states nothing." />`;
  }

  // --- The page --------------------------------------------------------------------------------------------------

  function Login({ enter }) {
    return html`<main>
      <h1>Palimpsest</h1>
      <form onSubmit=${submitted(({ key }) => enter(key.trim()))}>
        <${Field} label="API key (kept in this tab until it is closed)" name="key" type="password" required autocomplete="off" />
        <button>Open the console</button>
      </form>
      <${Outcome} />
    </main>`;
  }

  function Outcome() {
    // What came of the last action, read out by screen readers.
    const [last, set] = useState(null);
    useEffect(() => {
      announce = (text, is_error = false) => set({ text, is_error });
      return () => (announce = () => {});
    }, []);
    return html`<div class="said" role="status">
      ${last &&
      html`<p class=${last.is_error ? "error" : ""}>
        ${last.text} <button class="small" aria-label="Close this message" onClick=${() => set(null)}>×</button>
      </p>`}
    </div>`;
  }

  function View({ at, query }) {
    const [resource, id, tab] = at;
    if (resource === "users" && id) return html`<${User} key=${id} user=${id} tab=${tab ?? "memories"} query=${query} />`;
    if (resource === "sessions" && id) return html`<${Session} key=${id} id=${id} tab=${tab ?? "messages"} query=${query} />`;
    if (resource === "sessions") return html`<${Sessions} />`;
    if (resource === "jobs") return html`<${Jobs} />`;
    if (resource === "usage") return html`<${Usage} />`;
    if (resource === "settings") return html`<${Settings} />`;
    return html`<${Users} />`;
  }

  function Console() {
    const place = usePlace();
    const [key, set] = useState(() => sessionStorage.getItem(KEY));
    const main = useRef();
    const path = place.at.join("/");
    useEffect(() => main.current?.focus({ preventScroll: true }), [path]);
    if (!key) {
      const enter = (given) => (sessionStorage.setItem(KEY, given), set(given));
      return html`<${Login} enter=${enter} />`;
    }
    const leave = () => (sessionStorage.removeItem(KEY), set(null));
    const views = [["users", "Users"], ["sessions", "Sessions"], ["jobs", "Jobs"], ["usage", "Usage"], ["settings", "Settings"]];
    const here = place.at[0] ?? "users";
    return html`<a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), main.current.focus())}>To the content</a>
      <header>
        <strong>Palimpsest</strong>
        <nav aria-label="Console">
          ${views.map(([name, shown]) => html`<a href=${link(name)} aria-current=${name === here ? "page" : null}>${shown}</a>`)}
        </nav>
        <button class="small" onClick=${leave}>Log out</button>
      </header>
      <main id="main" tabindex="-1" ref=${main}><${View} ...${place} /></main>
      <${Outcome} />`;
  }

  // Escape closes what is open around the focus, and gives the focus back to what opened it.
  function close({ key, target }) {
    if (key !== "Escape" || target.matches("select, [type^=date]")) return; // these close their own list or calendar
    const details = target.closest("details[open]");
    const opener = details?.querySelector("summary") ?? target.closest(".card")?.querySelector("[aria-expanded=true]");
    opener?.click();
    opener?.focus();
  }

  document.addEventListener("keydown", close);
  render(html`<${Console} />`, document.getElementById("console"));
})();
