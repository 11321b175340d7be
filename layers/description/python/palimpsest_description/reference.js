"use strict";
const reference = document.querySelector("rapi-doc");
const find = document.getElementById("find");
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 767px)");
const operations = new Map(); // the id of each operation in the page, by the text that the search offers

function dress() {
  reference.setAttribute("theme", dark.matches ? "dark" : "light");
  reference.setAttribute("primary-color", dark.matches ? "#f2a871" : "#8a3f12");
  // A narrow page has no navigation beside it, so it lists all operations, folded.
  reference.setAttribute("render-style", narrow.matches ? "view" : "focused");
}

reference.addEventListener("spec-loaded", ({ detail: spec }) => {
  for (const operation of spec.tags.flatMap((tag) => tag.paths)) {
    operations.set(`${operation.summary} · ${operation.method.toUpperCase()} ${operation.path}`, operation.elementId);
  }
  document.getElementById("operations").replaceChildren(...[...operations.keys()].map((text) => new Option(text, text)));
});

function go() {
  const asked = find.value.trim().toLowerCase();
  const text = [...operations.keys()].find((each) => asked && each.toLowerCase().includes(asked));
  if (text) reference.scrollToPath(operations.get(text));
}

find.addEventListener("input", () => operations.has(find.value) && go());
document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  go();
});
// The page writes names beside its fields, but not as their labels.
const FIELDS = ["input", "select", "textarea"].map((name) => `${name}:not([aria-label])`).join();
const watched = new WeakSet();

function label(root) {
  for (const field of root.querySelectorAll(FIELDS)) {
    field.setAttribute("aria-label", field.dataset.pname || field.placeholder || "Body of the request");
  }
  for (const part of root.querySelectorAll("api-request")) watch(part.shadowRoot);
}

function watch(root) {
  if (!root || watched.has(root)) return;
  watched.add(root);
  new MutationObserver(() => label(root)).observe(root, { childList: true, subtree: true });
  label(root);
}

watch(reference.shadowRoot);
dark.addEventListener("change", dress);
narrow.addEventListener("change", dress);
dress();
const root = location.origin + location.pathname.replace(/\/v1\/docs$/, "");
reference.setAttribute("server-url", root);
reference.setAttribute("default-api-server", root);
reference.setAttribute("spec-url", `${root}/v1/openapi.json`);
