import { submitted, useAct } from "../../answers.js";
import { api } from "../../api.js";
import { Field, Select, same } from "../../parts/fields.jsx";
import { TYPES } from "./fields.js";

export function Saving({ root, saved }) {
  const [act, busy] = useAct();
  const save = submitted(async ({ type, content, topic_key }, form) => {
    const memory = topic_key ? { type, content, topic_key } : { type, content };
    if (await act(() => api("POST", root, { body: { memories: [memory] } }), "Saved.")) {
      form.reset();
      saved();
    }
  });
  return (
    <details>
      <summary>Save a memory</summary>
      <form class="grid" onSubmit={save}>
        <Select label="Type" name="type" of={same(TYPES)} />
        <Field label="Topic" name="topic_key" hint="A newer fact of the same topic replaces the older one." />
        <Field label="Content" name="content" area required wide />
        <button disabled={busy}>Save</button>
      </form>
    </details>
  );
}
