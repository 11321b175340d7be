// Bars: one measure against its most, and the parts of a whole.

import { count, percent } from "../figures.js";

/** `limit`: the most is a limit, and the bar warns when it is near. */
export function Meter({ label, value, most, limit = false }) {
  const share = most > 0 ? Math.min(1, Math.max(0, value / most)) : 0;
  const near = share >= 1 ? "full" : "high";
  const level = limit && share >= 0.8 ? near : "";
  return (
    <div class="meter">
      <span class="name">{label}</span>
      <span class={`rail ${level}`} role="meter" aria-label={label} aria-valuenow={value} aria-valuemin={0} aria-valuemax={most}>
        <span class="fill" style={{ width: `${share * 100}%` }} />
      </span>
      <span class="value">{count(value)}</span>
    </div>
  );
}

/** One bar of parts that add up to `whole`: [{name, value, hue}]. The legend says each part. */
export function Stacked({ label, parts, whole, unit = "tokens", children }) {
  const shown = parts.filter((part) => part.value > 0);
  const said = shown.map((part) => `${part.name} ${count(part.value)}`).join(", ");
  return (
    <figure class="stacked">
      <figcaption>
        <strong>{label}</strong>
        <span class="quiet">{count(whole)} {unit}</span>
      </figcaption>
      <div class="stack" role="img" aria-label={`${label}: ${said}`}>
        {shown.map((part) => (
          <span key={part.name} class={`part ${part.hue}`} style={{ flexGrow: part.value }} title={`${part.name}: ${count(part.value)} ${unit}`} />
        ))}
      </div>
      {children}
      <ul class="legend">
        {parts.map((part) => (
          <li key={part.name} data-part={part.name} data-value={part.value}>
            <span class={`dot ${part.hue}`} /> {part.name} <strong>{count(part.value)}</strong>
            <span class="quiet"> {whole ? percent(part.value / whole) : ""}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

/** Columns of a figure by day: [{name, value, shown}]. */
export function Columns({ label, bars }) {
  const most = Math.max(1e-12, ...bars.map((bar) => bar.value));
  return (
    <figure class="columns">
      <figcaption><strong>{label}</strong></figcaption>
      <div class="plot" role="img" aria-label={`${label}. ${bars.map((bar) => `${bar.name}: ${bar.shown}`).join(", ")}`}>
        {bars.map((bar) => (
          <span key={bar.name} class="column" title={`${bar.name}: ${bar.shown}`}>
            <span class="fill" style={{ height: `${(bar.value / most) * 100}%` }} />
          </span>
        ))}
      </div>
      {bars.length > 0 && (
        <p class="axis quiet" aria-hidden="true"><span>{bars[0].name}</span>{bars.length > 1 && <span>{bars.at(-1).name}</span>}</p>
      )}
    </figure>
  );
}
