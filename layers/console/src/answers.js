// Answers of the API as state of a view: one answer, or the rows of a list.

import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "./api.js";
import { announce } from "./parts/outcome.jsx";

/** `{answer, error, loading, again}` of a GET. Asks anew when one of `deps` changes. */
export function useAnswer(path, query, deps) {
  const [state, set] = useState({ loading: true });
  const run = useRef(0);
  const again = () => {
    const mine = ++run.current;
    set((before) => ({ ...before, loading: true, error: null }));
    api("GET", path, { query }).then(
      (answer) => mine === run.current && set({ answer }),
      (error) => mine === run.current && set({ error }),
    );
  };
  useEffect(() => {
    again();
    return () => {
      run.current++;
    };
  }, deps ?? [path]);
  return { ...state, again };
}

/** The rows of a list, page after page as they are asked for. `last` is the last page as it was answered. */
export function usePages(path, name, query, deps) {
  const [state, set] = useState({ rows: [], next: null, loading: true });
  const run = useRef(0);
  const load = (cursor, before) => {
    const mine = ++run.current;
    set((old) => ({ ...old, loading: true, error: null }));
    api("GET", path, { query: { ...query, cursor } }).then(
      (answer) => {
        const rows = [...before, ...answer[name]];
        if (mine === run.current) set({ rows, next: answer.next_cursor, loading: false, last: answer });
      },
      (error) => mine === run.current && set({ rows: before, next: null, loading: false, error }),
    );
  };
  useEffect(() => load(null, []), deps ?? [path]);
  return { ...state, more: () => load(state.next, state.rows), again: () => load(null, []) };
}

/** Every row of a list, up to `most`; `whole` says whether there are no more. */
export async function rowsOf(path, name, { query, most }) {
  const rows = [];
  for (let cursor = null; ; ) {
    const answer = await api("GET", path, { query: { limit: 100, ...query, cursor } });
    rows.push(...answer[name]);
    cursor = answer.next_cursor;
    if (!cursor || rows.length >= most) return { rows, whole: !cursor };
  }
}

/** Runs what a reader asked for, one thing at a time, and says its outcome. */
export function useAct() {
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

export const submitted = (use) => (event) => {
  event.preventDefault();
  use(Object.fromEntries(new FormData(event.target)), event.target);
};
