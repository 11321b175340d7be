import { useId } from "preact/hooks";

const Labelled = ({ label, hint, wide, id, children }) => (
  <div class={wide ? "field wide" : "field"}>
    <label for={id}>{label}</label>
    {children}
    {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
  </div>
);

export function Field({ label, hint, wide, area, ...input }) {
  const id = useId();
  const Input = area ? "textarea" : "input";
  return (
    <Labelled {...{ label, hint, wide, id }}>
      <Input id={id} aria-describedby={hint ? `${id}-hint` : undefined} {...input} />
    </Labelled>
  );
}

/** A choice of `[value, shown]` pairs. */
export function Select({ label, hint, wide, of, value, onChange, ...more }) {
  const id = useId();
  const chosen = onChange && ((event) => onChange(event.target.value));
  return (
    <Labelled {...{ label, hint, wide, id }}>
      <select id={id} value={value} onChange={chosen} {...more}>
        {of.map(([name, shown]) => <option value={name} selected={name === value}>{shown}</option>)}
      </select>
    </Labelled>
  );
}

export const same = (names) => names.map((name) => [name, name]);
