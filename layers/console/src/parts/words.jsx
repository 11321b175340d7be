// Stored text, times, badges and ids.

import { useState } from "preact/hooks";
import { ago, day, minute, percent, whole } from "../figures.js";
import { link } from "../place.js";
import { announce } from "./outcome.jsx";
import { Icon } from "./icon.jsx";

const SHORT = 2000; // characters of a text that are shown at first

/** Stored text, isolated from the text around it. Long texts are shown only as far as a reader asks. */
export function Text({ children }) {
  const [all, show] = useState(false);
  const text = typeof children === "string" ? children : JSON.stringify(children, null, 2);
  const long = text.length > SHORT && !all;
  return (
    <>
      <div class={typeof children === "string" ? "text" : "text code"} dir="auto">{long ? text.slice(0, SHORT) : text}</div>
      {long && <button class="small" onClick={() => show(true)}>Show all {text.length} characters</button>}
    </>
  );
}

export const Time = ({ of, as = "minute" }) => {
  if (!of) return <span class="quiet">–</span>;
  const shown = { minute, day, ago }[as](of);
  return <time datetime={of} title={`${whole(of)} · ${of}`}>{shown}</time>;
};

const HUES = {
  fact: "blue", event: "teal", instruction: "violet", task: "orange", preference: "pink", message: "gray",
  user: "blue", assistant: "green", tool: "orange", system: "violet", developer: "violet", item: "gray",
  done: "green", running: "blue", pending: "yellow", failed: "red", current: "green", active: "green",
  superseded: "gray", ended: "gray", outdated: "yellow", window: "blue", folded: "gray", "left the window": "gray",
  material: "orange", "off the record": "violet", "deleted in part": "red", extracted: "green", skipped: "gray", parked: "red",
};
export const hueOf = (name) => HUES[name] ?? "gray";

export const Badge = ({ children, hue }) => <span class={`badge ${hue ?? hueOf(children)}`}>{children}</span>;
/** A topic or key, which breaks after an underscore or colon. */
export const Topic = ({ children }) => (
  <span class="topic" dir="auto">{children.split(/(?<=[_:])/).map((part) => <>{part}<wbr /></>)}</span>
);

export function Copy({ text, what = "id" }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      announce(`Copied the ${what}.`);
    } catch {
      announce(`This browser does not let the page copy. The ${what} is ${text}`, true);
    }
  };
  return <button type="button" class="bare" aria-label={`Copy the ${what}`} title={`Copy the ${what}`} onClick={copy}><Icon name="copy" size={14} /></button>;
}

export const Id = ({ children, what }) => <span class="id"><code dir="auto">{children}</code><Copy text={children} what={what} /></span>;

export const Source = ({ of }) =>
  of?.session_id ? (
    <a href={`${link("sessions", of.session_id)}${of.seqs?.length ? `?seq=${of.seqs[0]}` : ""}`}>said in {of.session_id}</a>
  ) : null;

export const Share = ({ value, label }) => (
  <span class="share" title={`${label} ${value}`}>
    <svg viewBox="0 0 40 6" width="40" height="6" aria-hidden="true"><rect class="rail" width="40" height="6" rx="3" /><rect class="level" width={Math.max(2, 40 * value)} height="6" rx="3" /></svg>
    <span class="number">{percent(value)}</span>
  </span>
);

/** Two letters for a person, in a colour that stays theirs. */
export function Face({ of, large }) {
  const hues = ["blue", "teal", "violet", "orange", "pink", "green"];
  const sum = [...of].reduce((total, letter) => (total * 31 + letter.codePointAt(0)) % 9973, 7);
  const letters = of.split(/[^\p{L}\p{N}]+/u).filter(Boolean).slice(0, 2).map((word) => [...word][0]).join("");
  return <span class={`face ${hues[sum % hues.length]}${large ? " large" : ""}`} aria-hidden="true">{(letters || "?").toUpperCase()}</span>;
}
