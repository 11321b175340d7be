// The history of a session: each message is in the window, or was folded into a summary, or left without one.

import { useEffect, useState } from "preact/hooks";
import { rowsOf, usePages } from "../../answers.js";
import { api, segment } from "../../api.js";
import { More } from "../../parts/lists.jsx";
import { announce } from "../../parts/outcome.jsx";
import { Said } from "./said.jsx";

const MOST_COMPACTIONS = 500;

/** Where messages are now; null until that is known. */
function usePlaces(root) {
  const [places, set] = useState(null);
  useEffect(() => {
    let stale = false;
    const read = Promise.all([
      api("GET", `${root}/context`, { query: { explain: true } }),
      rowsOf(`${root}/compactions`, "compactions", { most: MOST_COMPACTIONS }),
    ]);
    read.then(
      ([context, { rows }]) => stale || set({ window: context.trace.window, pinned: pinnedOf(context.trace), folds: rows }),
      () => {}, // the history is shown without places
    );
    return () => {
      stale = true;
    };
  }, [root]);
  return places;
}

const pinnedOf = (trace) => trace.parts.filter((part) => part.part === "pinned");
const holds = (range, seq) => range.from <= seq && seq <= range.to;

export function placeOf(seq, places) {
  if (!places) return null;
  if (holds(places.window, seq) || places.pinned.some((range) => holds(range, seq))) return "window";
  return places.folds.some((fold) => fold.summary && holds(fold, seq)) ? "folded" : "left the window";
}

export function Messages({ session, query }) {
  const root = `/sessions/${segment(session.session_id)}`;
  const wanted = Number(query.get("seq")) || null;
  const pages = usePages(`${root}/messages`, "messages", { order: "desc", limit: 50 });
  const places = usePlaces(root);
  const one = useOne(wanted && `${root}/messages/${wanted}`);
  const isThere = pages.rows.some((each) => each.seq === wanted);
  return (
    <>
      {one && !isThere && <ul class="messages" aria-label="The source"><Said message={one} place={placeOf(one.seq, places)} marked /></ul>}
      <ul class="messages" aria-label="Messages, the newest first">
        {pages.rows.map((each) => <Said key={each.seq} message={each} place={placeOf(each.seq, places)} marked={each.seq === wanted} />)}
      </ul>
      <More pages={pages} empty="Nothing was said yet." />
    </>
  );
}

function useOne(path) {
  const [one, set] = useState(null);
  useEffect(() => {
    set(null);
    if (path) api("GET", path).then(set, (error) => announce(error.message, true));
  }, [path]);
  return one;
}
