// ⌘K: go to any view, user or session, or do something, by typing a few letters of its name.

import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api.js";
import { Icon } from "./icon.jsx";

const MOST = 12;

const fits = (words, name) => words.every((word) => name.toLowerCase().includes(word));

/** Users and sessions of the tenant, read once when the palette opens. */
function useNames(open) {
  const [names, set] = useState({ users: [], sessions: [] });
  useEffect(() => {
    if (!open) return;
    const read = [api("GET", "/users", { query: { limit: 100 } }), api("GET", "/sessions", { query: { limit: 100 } })];
    Promise.all(read).then(
      ([{ users }, { sessions }]) => set({ users: users.map((each) => each.user_id), sessions: sessions.map((each) => each.session_id) }),
      () => {}, // views and actions can still be found
    );
  }, [open]);
  return names;
}

const ID = /^[A-Za-z0-9._:@+|=-]{1,128}$/;

function entriesOf(text, { views, actions, names, link }) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const known = [
    ...views.map((view) => ({ ...view, kind: "View" })),
    ...names.users.map((id) => ({ name: id, kind: "User", icon: "users", to: link("users", id) })),
    ...names.sessions.map((id) => ({ name: id, kind: "Session", icon: "sessions", to: link("sessions", id) })),
    ...actions.map((action) => ({ ...action, kind: "Action" })),
  ];
  const found = known.filter((entry) => fits(words, `${entry.kind} ${entry.name}`)).slice(0, MOST);
  const id = text.trim();
  if (!ID.test(id)) return found;
  const byId = [
    { name: `Open the user ${id}`, kind: "By id", icon: "users", to: link("users", id) },
    { name: `Open the session ${id}`, kind: "By id", icon: "sessions", to: link("sessions", id) },
  ];
  return [...found, ...byId];
}

export function Palette({ open, close, views, actions, link }) {
  const dialog = useRef();
  const [text, type] = useState("");
  const [chosen, choose] = useState(0);
  const names = useNames(open);
  useEffect(() => {
    if (!open) return dialog.current?.close();
    type("");
    choose(0);
    dialog.current.showModal();
  }, [open]);
  const entries = entriesOf(text, { views, actions, names, link });
  const run = (entry) => {
    if (!entry) return;
    close();
    if (entry.to) location.hash = entry.to;
    else entry.act();
  };
  const pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      choose((chosen + step + entries.length) % entries.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(entries[chosen]);
    }
  };
  return (
    <dialog class="palette" ref={dialog} aria-label="Go to" onClose={close} onClick={(event) => event.target === dialog.current && close()}>
      {open && <Entries {...{ text, entries, chosen, choose, type, pressed, run }} />}
    </dialog>
  );
}

const Entries = ({ text, entries, chosen, choose, type, pressed, run }) => (
    <>
      <div class="ask">
        <Icon name="search" />
        <input role="combobox" aria-label="Go to a view, user or session" aria-expanded="true" aria-controls="entries" aria-activedescendant={entries.length ? `entry-${chosen}` : undefined}
          placeholder="Go to a view, user or session …" value={text} onInput={(event) => (type(event.target.value), choose(0))} onKeyDown={pressed} autocomplete="off" spellcheck={false} autofocus />
        <kbd>Esc</kbd>
      </div>
      <ul id="entries" role="listbox" aria-label="Entries">
        {entries.map((entry, at) => (
          <li key={`${entry.kind} ${entry.name}`} id={`entry-${at}`} role="option" aria-selected={at === chosen} onPointerMove={() => choose(at)} onClick={() => run(entry)}>
            <Icon name={entry.icon} /> <span class="grow">{entry.name}</span> <span class="quiet">{entry.kind}</span>
          </li>
        ))}
      </ul>
      {!entries.length && <p class="empty">Nothing has that name.</p>}
    </>
);
