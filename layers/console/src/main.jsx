// The memory console: one page over the API, with the key of its reader. Everything from the API is shown as text.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { key } from "./api.js";
import { Login } from "./login.jsx";
import { Shell } from "./shell.jsx";

function Console() {
  const [isIn, set] = useState(() => Boolean(key.read()));
  const enter = (given) => (key.keep(given), set(true));
  const leave = () => (key.forget(), say(null), set(false));
  const [said, say] = useState(null);
  useEffect(() => {
    const refused = () => (leave(), say("This key is not valid any more."));
    addEventListener("refused", refused);
    return () => removeEventListener("refused", refused);
  }, []);
  return isIn ? <Shell leave={leave} /> : <Login enter={enter} said={said} />;
}

/** Escape closes what is open around the focus, and gives the focus back to what opened it. */
function close({ key: pressed, target }) {
  if (pressed !== "Escape" || target.matches("select, [type^=date]")) return; // these close their own list or calendar
  const details = target.closest("details[open]");
  const row = target.closest("tr.detail")?.previousElementSibling;
  const opener =
    details?.querySelector("summary") ??
    target.closest(".opened, .panel, li")?.querySelector("[aria-expanded=true]") ??
    row?.querySelector("[aria-expanded=true]") ??
    target.closest("header.top")?.querySelector("[aria-expanded=true]");
  opener?.click();
  opener?.focus();
}

document.addEventListener("keydown", close);
render(<Console />, document.getElementById("console"));
