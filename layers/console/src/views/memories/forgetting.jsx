import { useState } from "preact/hooks";
import { submitted, useAct } from "../../answers.js";
import { api, settled } from "../../api.js";
import { plural } from "../../figures.js";
import { Field, Select, same } from "../../parts/fields.jsx";
import { TYPES } from "./fields.js";

const filterOf = ({ types, subject, created_before }) => ({
  ...(types ? { types: [types] } : {}),
  ...(subject ? { subject } : {}),
  ...(created_before ? { created_before: new Date(`${created_before}T00:00`).toISOString() } : {}),
});

/** Forgets by a filter, after a dry run. */
export function Forgetting({ root, forgotten }) {
  const [act, busy] = useAct();
  const [would, show] = useState(null);
  const attempt = submitted(async (given) => {
    const filter = filterOf(given);
    const made = await act(() => api("POST", `${root}/forget`, { body: { filter, dry_run: true } }));
    if (made) show({ ...made, filter });
  });
  const forget = async () => {
    const begun = () => api("POST", `${root}/forget`, { body: { filter: would.filter, wait: 10 } });
    await act(async () => settled(await begun()), "Forgotten.");
    show(null);
    forgotten();
  };
  return (
    <details>
      <summary>Forget by filter</summary>
      <form class="grid" onSubmit={attempt}>
        <Select label="Type to forget" name="types" of={[["", "any"], ...same(TYPES)]} />
        <Field label="About" name="subject" />
        <Field label="Created before" name="created_before" type="date" />
        <button disabled={busy}>Try (dry run)</button>
      </form>
      {would && (
        <p class="notice">
          <span>{plural(would.count, "memory", "memories")} would be forgotten, with all versions.</span>
          {would.count > 0 && <button class="danger" disabled={busy} onClick={forget}>Forget for good</button>}
          <button class="plain" onClick={() => show(null)}>Keep</button>
        </p>
      )}
    </details>
  );
}
