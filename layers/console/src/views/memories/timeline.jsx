// The versions of a topic in time: one strip, and each version in words.

import { useAct, usePages } from "../../answers.js";
import { api, segment } from "../../api.js";
import { More } from "../../parts/lists.jsx";
import { Badge, Source, Text, Time } from "../../parts/words.jsx";
import { stateOf } from "./fields.js";

const HUES = ["blue", "teal", "violet", "orange", "pink", "green"];
const LEAST_SHARE = 0.04; // so that a version of a minute is seen beside one of a year
const hueOf = (version) => HUES[(version.version - 1) % HUES.length];

function lengths(versions, now) {
  const spans = versions.map((each) => Math.max(0, (each.valid_to ? new Date(each.valid_to) : now) - new Date(each.valid_from)));
  const whole = spans.reduce((total, span) => total + span, 0) || 1;
  return spans.map((span) => Math.max(LEAST_SHARE, span / whole));
}

export function Timeline({ root, path, changed }) {
  const pages = usePages(`${path}/history`, "versions", { limit: 50 });
  const oldest = [...pages.rows].reverse();
  return (
    <>
      {oldest.length > 1 && <Strip versions={oldest} />}
      <ol class="timeline" aria-label="Versions, the newest first">
        {pages.rows.map((version) => <Version key={version.id} {...{ root, version, changed }} />)}
      </ol>
      <More pages={pages} empty="It has no history." />
    </>
  );
}

function Strip({ versions }) {
  const long = lengths(versions, new Date());
  return (
    <div class="strip" aria-hidden="true">
      <div class="stack">
        {versions.map((version, place) => (
          <span key={version.id} class={`part ${hueOf(version)}`} style={{ flexGrow: long[place] }}>{version.version}</span>
        ))}
      </div>
      <p class="axis quiet"><Time of={versions[0].valid_from} as="day" /><span>now</span></p>
    </div>
  );
}

function Version({ root, version, changed }) {
  const [act, busy] = useAct();
  const revert = async () => {
    const made = await act(() => api("POST", `${root}/${segment(version.id)}/revert`), "Its content is current again.");
    if (made) changed();
  };
  return (
    <li class={hueOf(version)}>
      <Text>{version.content}</Text>
      <p class="facts">
        <Badge>{stateOf(version)}</Badge>
        <span>version {version.version}</span>
        <span><Time of={version.valid_from} /> to {version.valid_to ? <Time of={version.valid_to} /> : "now"}</span>
        <Source of={version.source} />
        {version.status === "superseded" && <button class="small" disabled={busy} onClick={revert}>Make current again</button>}
      </p>
    </li>
  );
}
