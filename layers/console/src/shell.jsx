// The frame around every view: navigation, refresh, ⌘K, theme, log out.

import { useEffect, useRef, useState } from "preact/hooks";
import { link, usePlace } from "./place.js";
import { useTheme } from "./theme.js";
import { Icon } from "./parts/icon.jsx";
import { Outcome } from "./parts/outcome.jsx";
import { Palette } from "./parts/palette.jsx";
import { Home } from "./views/home.jsx";
import { Jobs } from "./views/jobs.jsx";
import { Playground } from "./views/playground.jsx";
import { Reviews } from "./views/reviews.jsx";
import { Session } from "./views/session/session.jsx";
import { Sessions } from "./views/sessions.jsx";
import { Settings } from "./views/settings.jsx";
import { Usage } from "./views/usage.jsx";
import { User } from "./views/user.jsx";
import { Users } from "./views/users.jsx";

const VIEWS = [
  { at: "home", name: "Home", icon: "home", View: Home }, { at: "users", name: "Users", icon: "users", View: Users },
  { at: "sessions", name: "Sessions", icon: "sessions", View: Sessions }, { at: "playground", name: "Playground", icon: "chat", View: Playground },
  { at: "reviews", name: "Reviews", icon: "reviews", View: Reviews }, { at: "jobs", name: "Failed jobs", icon: "jobs", View: Jobs }, { at: "usage", name: "Usage", icon: "gauge", View: Usage },
  { at: "settings", name: "Settings", icon: "settings", View: Settings },
];

function Shown({ at: [name, id, tab], query }) {
  if (name === "users" && id) return <User key={id} user={id} tab={tab ?? "memories"} query={query} />;
  if (name === "sessions" && id) return <Session key={id} id={id} tab={tab ?? "messages"} query={query} />;
  const { View } = VIEWS.find((view) => view.at === (name ?? "home")) ?? {};
  return View ? <View key={query.toString()} query={query} /> : <p class="empty">There is no such view.</p>;
}

/** ⌘K or Ctrl+K opens the palette. */
function useShortcut(open) {
  useEffect(() => {
    const pressed = (event) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      open();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export function Shell({ leave }) {
  const place = usePlace();
  const [run, refresh] = useState(0);
  const [palette, openPalette] = useState(false);
  const [theme, turn] = useTheme();
  const main = useRef();
  const path = place.at.join("/");
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    main.current.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [path]);
  useShortcut(() => openPalette(true));
  const again = () => refresh((before) => before + 1);
  const actions = [
    { name: "Refresh this view", icon: "refresh", act: again }, { name: "Change the theme", icon: "dark", act: turn },
    { name: "Log out", icon: "leave", act: leave },
  ];
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current.focus())}>To the content</a>
      <Top {...{ place, theme, turn, leave, again }} search={() => openPalette(true)} />
      <main id="main" tabindex="-1" ref={main}><Shown key={run} {...place} /></main>
      <Palette open={palette} close={() => openPalette(false)} link={link} actions={actions}
        views={VIEWS.map((view) => ({ ...view, to: link(view.at) }))} />
      <Outcome />
    </div>
  );
}

function Top({ place, theme, turn, leave, again, search }) {
  const here = place.at[0] ?? "home";
  const [open, toggle] = useState(false);
  useEffect(() => toggle(false), [place]);
  const themeIcon = { system: "system", light: "light", dark: "dark" }[theme];
  return (
    <header class={`top${open ? " open" : ""}`}>
      <a class="brand" href={link("home")}><Mark /> Palimpsest</a>
      <button class="bare menu" aria-expanded={open} aria-controls="menu" onClick={() => toggle(!open)}><Icon name={open ? "close" : "menu"} size={20} /><span class="silent">Menu</span></button>
      <button class="search" aria-keyshortcuts="Meta+K Control+K" onClick={search}><Icon name="search" /> <span>Go to …</span> <kbd aria-hidden="true">⌘K</kbd></button>
      <nav id="menu" aria-label="Console">
        {VIEWS.map((view) => (
          <a key={view.at} href={link(view.at)} aria-current={view.at === here ? "page" : undefined}><Icon name={view.icon} /> {view.name}</a>
        ))}
      </nav>
      <div class="own">
        <button class="bare" aria-label="Refresh" title="Refresh this view" onClick={again}><Icon name="refresh" /></button>
        <button class="bare" aria-label={`Theme: ${theme}`} title={`Theme: ${theme}`} onClick={turn}><Icon name={themeIcon} /></button>
        <a class="bare" href="docs" aria-label="Reference of the API" title="Reference of the API"><Icon name="book" /></a>
        <button class="bare" aria-label="Log out" title="Log out" onClick={leave}><Icon name="leave" /></button>
      </div>
    </header>
  );
}

/** A page written over: one line fades under another. */
export const Mark = () => (
  <svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
    <rect x="3" y="2" width="18" height="20" rx="3" />
    <path class="under" d="M7 8h10M7 12.5h10M7 17h6" /><path class="over" d="M7 10.2h7M7 14.8h10" />
  </svg>
);
