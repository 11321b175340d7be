import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon.jsx";

let show = () => {};
export const announce = (text, isError = false) => show({ text, isError });

const SHOWN_MS = 8000;

/** The outcome of the last action, which readers of the screen say aloud. Errors stay until they are closed. */
export function Outcome() {
  const [last, set] = useState(null);
  useEffect(() => {
    show = set;
    return () => {
      show = () => {};
    };
  }, []);
  useEffect(() => {
    if (!last || last.isError) return;
    const timer = setTimeout(() => set(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [last]);
  return (
    <div class="outcome" role="status">
      {last && (
        <p class={last.isError ? "toast wrong" : "toast"}>
          <Icon name={last.isError ? "alert" : "check"} />
          <span>{last.text}</span>
          <button class="bare" aria-label="Close this message" onClick={() => set(null)}><Icon name="close" /></button>
        </p>
      )}
    </div>
  );
}
