// A chat to try memory with: while one types, it shows what is recalled, and what a model would be sent.

import { useEffect, useRef, useState } from "preact/hooks";
import { useAct } from "../answers.js";
import { api, segment } from "../api.js";
import { percent } from "../figures.js";
import { link, useTitle } from "../place.js";
import { Field, Select, same } from "../parts/fields.jsx";
import { Empty } from "../parts/lists.jsx";
import { Badge, Text } from "../parts/words.jsx";
import { Result } from "./recall.jsx";
import { Budget, remember, remembered } from "./session/budget.jsx";
import { Said } from "./session/said.jsx";

const PAUSE_MS = 350;
const LEAST = 3; // letters
const LAST_MESSAGES = 30;
const newSession = () => `playground-${new Date().toISOString().slice(0, 16).replace(/[-:]/g, "").replace("T", "-")}`;

export function Playground({ query }) {
  useTitle("Playground");
  const [user, name] = useState(query.get("user") ?? "sarah");
  const [own] = useState(newSession);
  const [session, call] = useState(query.get("session") ?? own);
  return (
    <>
      <header class="head">
        <h1>Playground</h1>
        <div class="bar">
          <Field label="User" value={user} onChange={(event) => name(event.target.value.trim())} autocomplete="off" />
          <Field label="Session" value={session} onChange={(event) => call(event.target.value.trim())} autocomplete="off" />
        </div>
      </header>
      {user && session ? <Chat key={`${user}/${session}`} user={user} session={session} isOwn={session === own} /> : <Empty>Name a user and a session.</Empty>}
    </>
  );
}

/** Runs `look(text)` once the text has not changed for a moment. Answers that come too late are dropped. */
function useTyped(text, look) {
  const [found, set] = useState({});
  useEffect(() => {
    if (text.trim().length < LEAST) return set({});
    let stale = false;
    const timer = setTimeout(() => {
      look(text).then(
        (answer) => stale || set({ answer }),
        (error) => stale || set({ error }),
      );
    }, PAUSE_MS);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [text]);
  return found;
}

function Chat({ user, session, isOwn }) {
  const [draft, write] = useState("");
  const { messages, isNew, refresh, error } = useConversation(session, isOwn);
  const recalled = useTyped(draft, (query) => api("POST", `/users/${segment(user)}/recall`, { body: { query, k: 5 } }));
  return (
    <div class="playground">
      <section class="panel chat" aria-label="Conversation">
        {isNew && <Empty>Say something. It is stored in the session <code>{session}</code> of <a href={link("users", user)}>{user}</a>.</Empty>}
        {error && <p class="notice wrong" role="alert">{error.message}</p>}
        {messages.length > 0 && <Conversation messages={messages} />}
        <Composer {...{ user, session, draft, write, refresh }} />
      </section>
      <aside aria-label="Memory">
        <Recalls draft={draft} {...recalled} />
        <Context session={session} isNew={isNew} draft={draft} last={messages.at(-1)?.seq} />
      </aside>
    </div>
  );
}

/** The newest messages of a session, the oldest first. A session that this page named is new until something is said. */
function useConversation(session, isOwn) {
  const [state, set] = useState({ messages: [], isNew: isOwn });
  const path = `/sessions/${segment(session)}/messages`;
  const refresh = async () => {
    try {
      const { messages } = await api("GET", path, { query: { order: "desc", limit: LAST_MESSAGES } });
      set({ messages: messages.reverse(), isNew: false });
    } catch (error) {
      set(error.status === 404 ? { messages: [], isNew: true } : { messages: [], isNew: false, error });
    }
  };
  useEffect(() => {
    if (!isOwn) refresh();
  }, [path]);
  return { ...state, refresh };
}

function Conversation({ messages }) {
  const list = useRef();
  useEffect(() => list.current.scrollTo(0, list.current.scrollHeight), [messages]);
  return (
    <div class="scroll" ref={list} tabindex="0" role="log" aria-label="Messages">
      <ul class="messages">{messages.map((each) => <Said key={each.seq} message={each} />)}</ul>
    </div>
  );
}

function Composer({ user, session, draft, write, refresh }) {
  const [act, busy] = useAct();
  const [role, play] = useState("user");
  const input = useRef();
  const send = async (event) => {
    event?.preventDefault();
    if (!draft.trim() || busy) return;
    const body = { user_id: user, messages: [{ role, content: draft }] };
    if (!(await act(() => api("POST", `/sessions/${segment(session)}/messages`, { body })))) return;
    write("");
    await refresh();
    input.current?.focus();
  };
  const pressed = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && send(event);
  return (
    <form class="composer" onSubmit={send}>
      <label class="silent" for="draft">Message</label>
      <textarea id="draft" ref={input} rows="2" value={draft} placeholder="Write as a user would. Enter sends it." onInput={(event) => write(event.target.value)} onKeyDown={pressed} />
      <div class="bar">
        <Select label="Say it as" value={role} onChange={play} of={same(["user", "assistant"])} />
        <Answering user={user} draft={draft} />
        <button class="main" disabled={busy || !draft.trim()}>Send</button>
      </div>
    </form>
  );
}

/** An answer from memory alone, as `recall` gives it. It is shown, not stored. */
function Answering({ user, draft }) {
  const [act, busy] = useAct();
  const [answer, show] = useState(null);
  useEffect(() => show(null), [draft]);
  const ask = () => act(async () => show(await api("POST", `/users/${segment(user)}/recall`, { body: { query: draft, answer: true } })));
  return (
    <>
      <button type="button" class="plain" disabled={busy || !draft.trim()} onClick={ask}>Answer from memory</button>
      {answer && (
        <div class="notice answer" role="status">
          <Badge hue="green">{answer.method ?? "nothing known"}</Badge>
          <Text>{answer.answer || "Nothing is known of that."}</Text>
        </div>
      )}
    </>
  );
}

const Recalls = ({ draft, answer, error }) => (
  <section class="panel">
    <h2>Recalled as you type</h2>
    {error && <p class="notice wrong">{error.message}</p>}
    {!answer && !error && <p class="quiet">{draft.trim() ? "Looking …" : "Type a message, and what is known about it appears here."}</p>}
    {answer && !answer.memories.length && <p class="quiet">Nothing fits. A context would have no memory for it.</p>}
    {answer?.answerable != null && <p class="quiet">Likely to hold the answer: {percent(answer.answerable)}</p>}
    <ol class="rows recalls">
      {(answer?.memories ?? []).map((memory) => (
        <li key={memory.id} class="said">
          <Result memory={memory} />
          <span class="rail" aria-hidden="true"><span class="fill" style={{ width: `${Math.min(1, memory.score) * 100}%` }} /></span>
        </li>
      ))}
    </ol>
  </section>
);

/** The context that a model would be sent now, with the draft as its newest message. */
function Context({ session, isNew, draft, last }) {
  const path = `/sessions/${segment(session)}/context`;
  const [stored, set] = useState(null);
  const before = useRef(remembered(session));
  useEffect(() => {
    if (isNew || !last) return;
    api("GET", path, { query: { explain: true, after: before.current?.mark } }).then(set, () => set(null));
  }, [last, isNew]);
  const typed = useTyped(isNew ? "" : draft, (message) => api("POST", path, { body: { message, explain: true, after: stored?.cache.mark } }));
  useEffect(() => {
    if (!stored) return;
    remember(session, stored.cache);
    before.current = remembered(session);
  }, [stored]);
  const shown = typed.answer ?? stored;
  return (
    <section class="panel flush">
      <h2>Context that a model would be sent</h2>
      {!shown && <p class="quiet">The session has no message yet.</p>}
      {shown && <Budget context={shown} />}
      {shown && <details><summary>{shown.messages.length} messages</summary><ul class="messages">{shown.messages.map((each) => <Said message={each} />)}</ul></details>}
    </section>
  );
}
