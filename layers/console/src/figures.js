// Numbers and times as a reader has them: in their own language and time zone.

const HOUR = 3600;
const STEPS = [
  [60, "second"], [60, "minute"], [24, "hour"], [7, "day"], [4.35, "week"], [12, "month"], [Infinity, "year"],
];

export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const PLAIN = new Intl.NumberFormat(undefined, { maximumFractionDigits: 3 });
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const MINUTE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const SHORT_DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

export const count = (given) => (typeof given === "number" ? PLAIN.format(given) : "–");
export const compact = (given) => (typeof given === "number" ? COMPACT.format(given) : "–");
export const percent = (share) => `${Math.round(share * 100)} %`;
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** US dollars: cents from a dollar on, else two digits that count. */
export function dollars(given) {
  if (typeof given !== "number") return "–";
  const digits = given === 0 || given >= 1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(given)));
  return `$${given.toFixed(digits)}`;
}

export const minute = (iso) => MINUTE.format(new Date(iso));
export const whole = (iso) => WHOLE.format(new Date(iso));
export const day = (iso) => DAY.format(new Date(iso));
/** A day of the calendar, such as 2026-11-03, which is a day in no zone. */
export const calendarDay = (date) => SHORT_DAY.format(new Date(`${date}T00:00:00Z`));

/** "2 hr. ago" */
export function ago(iso, now = Date.now()) {
  let distance = (new Date(iso) - now) / 1000;
  if (Math.abs(distance) < HOUR / 60) return "just now";
  for (const [size, unit] of STEPS) {
    if (Math.abs(distance) < size) return AGO.format(Math.round(distance), unit);
    distance /= size;
  }
}

/** The value below which a share of the numbers lies (nearest rank); null without numbers. */
export function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] : null;
}

/** The bars of a usage by day, also of days without any: [{name, value, shown}]. */
export function byDay({ from, to, usage } = {}, read, print) {
  if (!from) return [];
  const rows = Object.fromEntries(usage.map((row) => [row.day, row]));
  const bars = [];
  for (const date = new Date(`${from}T00:00:00Z`); ; date.setUTCDate(date.getUTCDate() + 1)) {
    const day = date.toISOString().slice(0, 10);
    if (day > to) return bars;
    const value = read(rows[day]);
    bars.push({ name: calendarDay(day), value, shown: print(value) });
  }
}
