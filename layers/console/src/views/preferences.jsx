import { submitted, useAct, usePages } from "../answers.js";
import { api, segment } from "../api.js";
import { Field } from "../parts/fields.jsx";
import { More, Table } from "../parts/lists.jsx";
import { Text, Time, Topic } from "../parts/words.jsx";

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function Preferences({ user }) {
  const root = `/users/${segment(user)}/preferences`;
  const pages = usePages(root, "preferences", { limit: 100 });
  const [act, busy] = useAct();
  const save = submitted(async ({ key, value }, form) => {
    const put = () => api("PUT", `${root}/${segment(key)}`, { body: { value: valueOf(value) } });
    if (await act(put, "Saved.")) {
      form.reset();
      pages.again();
    }
  });
  const remove = (key) => async () => {
    if (await act(() => api("DELETE", `${root}/${segment(key)}`), "Deleted.")) pages.again();
  };
  const columns = [
    { name: "Key", head: true, by: (each) => each.key, cell: (each) => <Topic>{each.key}</Topic> },
    { name: "Value", by: (each) => JSON.stringify(each.value), cell: (each) => <Text>{each.value}</Text> },
    { name: "Since", by: (each) => each.updated_at, cell: (each) => <Time of={each.updated_at} as="ago" /> },
    { name: "Actions", silent: true, cell: (each) => <button class="small" disabled={busy} onClick={remove(each.key)}>Delete {each.key}</button> },
  ];
  return (
    <>
      <form class="panel bar" onSubmit={save}>
        <Field label="Key" name="key" required autocomplete="off" />
        <Field label="Value (JSON, or a text)" name="value" required autocomplete="off" wide />
        <button disabled={busy}>Save</button>
      </form>
      <Table label="Preferences" columns={columns} rows={pages.rows} id={(each) => each.key} />
      <More pages={pages} empty="This user has no preferences." />
    </>
  );
}
