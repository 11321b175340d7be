// Calls of the API with the reader's key, and how long the last ones took.

const BASE = location.pathname.replace(/\/v1\/console\/?$/, "");
const STORED = "palimpsest-key";
const MOST_TIMES = 500;

export const SERVICE = `${location.origin}${BASE}`;
export const segment = encodeURIComponent;

export const key = {
  read: () => sessionStorage.getItem(STORED),
  keep: (given) => sessionStorage.setItem(STORED, given),
  forget: () => sessionStorage.clear(),
};

/** A refused call. `status` is 0 if the service did not answer. */
export class Problem extends Error {
  constructor(status, answer) {
    const fields = (answer.errors ?? []).map((each) => `${each.field}: ${each.message}`).join("; ");
    const detail = answer.detail ?? answer.message ?? `The service answered ${status}.`;
    super([detail, fields].filter(Boolean).join(" "));
    this.status = status;
    this.code = answer.code;
  }
}

const times = [];

/** The durations in ms of this page's last calls that did not wait for a job: at most 500. */
export const durations = () => [...times];

async function sent(method, path, { body, query, as } = {}) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== "" && value != null);
  const asked = given.length ? `${path}?${new URLSearchParams(given)}` : path;
  const headers = { Authorization: `Bearer ${as ?? key.read()}`, "Content-Type": "application/json" };
  if (method === "POST") headers["Idempotency-Key"] = crypto.randomUUID();
  try {
    return await fetch(`${BASE}/v1${asked}`, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Problem(0, { detail: "The service does not answer. Check your connection, then refresh." });
  }
}

function parsed(text, status) {
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    return { detail: `The service answered ${status} with something that is not JSON.` };
  }
}

export async function api(method, path, given = {}) {
  const begun = performance.now();
  const answer = await sent(method, path, given);
  const read = parsed(await answer.text(), answer.status);
  if (!given.query?.wait && !given.body?.wait) {
    times.push(performance.now() - begun);
    if (times.length > MOST_TIMES) times.shift();
  }
  if (answer.status === 401 && !given.as) dispatchEvent(new Event("refused"));
  if (!answer.ok) throw new Problem(answer.status, read);
  return read;
}

const OVER = new Set(["done", "failed"]);

/** The job that an answer began, once it is over; the answer itself if it began none. */
export async function settled(answer) {
  let job = answer;
  while (job.job_id && !OVER.has(job.state)) {
    job = await api("GET", `/jobs/${segment(job.job_id)}`, { query: { wait: 10 } });
  }
  return job;
}

/** Says in words why a key opens nothing; null if it does. */
export async function refusal(given) {
  try {
    await api("GET", "/users", { as: given, query: { limit: 1 } });
    return null;
  } catch (problem) {
    if (problem.status === 401) return "This key is not valid. Check that you copied all of it.";
    if (problem.status === 403 && problem.code === "missing_scope")
      return "This key can't read. The console needs a key with the scope read.";
    if (problem.status === 403) return "This key is not valid, or it has expired or was revoked.";
    return problem.message;
  }
}
