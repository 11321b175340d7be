import { useState } from "preact/hooks";
import { SERVICE, refusal } from "./api.js";
import { submitted } from "./answers.js";
import { useTitle } from "./place.js";
import { useTheme } from "./theme.js";
import { Field } from "./parts/fields.jsx";
import { Icon } from "./parts/icon.jsx";
import { Mark } from "./shell.jsx";

/** Takes a key once the service has said that it can read. */
export function Login({ enter, said }) {
  useTitle("Log in");
  useTheme();
  const [wrong, say] = useState(said);
  const [busy, set] = useState(false);
  const attempt = submitted(async ({ key }) => {
    set(true);
    say(null);
    const reason = await refusal(key.trim());
    set(false);
    return reason ? say(reason) : enter(key.trim());
  });
  return (
    <main class="login">
      <form class="panel" onSubmit={attempt}>
        <h1><Mark /> Palimpsest</h1>
        <p class="quiet">What your agents remember, and why.</p>
        <Field label="API key" name="key" type="password" required autocomplete="off" autofocus spellcheck={false}
          hint="It stays in this tab, and is gone when you close it or log out." aria-invalid={wrong ? "true" : undefined} />
        {wrong && <p class="notice wrong" role="alert"><Icon name="alert" /> {wrong}</p>}
        <button class="main" disabled={busy}>{busy ? "Checking the key …" : "Open the console"}</button>
        <p class="hint">{SERVICE}</p>
      </form>
    </main>
  );
}
