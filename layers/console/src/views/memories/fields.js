// The fields of a memory as all views of memories show them: its types, its state and its text.

export const TYPES = ["fact", "event", "instruction", "task"];
const BRIEF = 280;

export const isLong = (text) => text.length > BRIEF;
export const brief = (text) => (isLong(text) ? `${text.slice(0, BRIEF)}…` : text);

export const stateOf = (memory) => {
  if (memory.ended) return "ended";
  return memory.status ?? (memory.outdated_by ? "outdated" : "current");
};
