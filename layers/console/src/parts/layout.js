// Where the nodes of a graph are drawn: by forces, the same each time.

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";

const TICKS = 300;
const ROUND = 26; // room for a node's circle, in units of the drawing
const NAME = 3.2; // more room for each letter of its name
const LENGTH = 165; // of an edge with a label
const BARE = 150; // of one to a preference, so that it lies beyond the labels of others
const MARGIN = 48;
const SHORT = 26;

export const short = (text) => (text.length > SHORT ? `${text.slice(0, SHORT - 1)}…` : text);

/** The name at a node. A preference is named by its key and its value. */
export function shownName(node) {
  if (node.type !== "Preference") return node.name ?? node.id;
  const { value } = node.properties ?? {};
  return `${node.name}: ${typeof value === "string" ? value : JSON.stringify(value)}`;
}

/** `{nodes, edges, box}`: nodes with x and y, edges with their ends, and the box that holds all. The first node is the centre. */
export function layout(nodes, edges) {
  const placed = nodes.map((node, at) => ({ ...node, shown: shownName(node), ...(at === 0 ? { fx: 0, fy: 0 } : {}) }));
  const known = new Set(placed.map((node) => node.id));
  const links = edges
    .filter((edge) => known.has(edge.from) && known.has(edge.to))
    .map((edge) => ({ ...edge, source: edge.from, target: edge.to }));
  forceSimulation(placed)
    .force("link", forceLink(links).id((node) => node.id).distance((edge) => (edge.type === "PREFERS" ? BARE : LENGTH)))
    .force("charge", forceManyBody().strength(-1100))
    .force("x", forceX().strength(0.05))
    .force("y", forceY().strength(0.14))
    .force("room", forceCollide((node) => ROUND + (NAME * short(node.shown).length) / 2))
    .stop()
    .tick(TICKS);
  return { nodes: placed, edges: links, box: boxOf(placed) };
}

function boxOf(nodes) {
  const wide = nodes.map((node) => NAME * short(node.shown).length + MARGIN);
  const left = Math.min(...nodes.map((node, at) => node.x - wide[at]));
  const right = Math.max(...nodes.map((node, at) => node.x + wide[at]));
  const top = Math.min(...nodes.map((node) => node.y)) - MARGIN;
  const bottom = Math.max(...nodes.map((node) => node.y)) + MARGIN;
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** The node that is nearest in the direction of an arrow key; null if there is none. */
export function towards(nodes, from, [dx, dy]) {
  let best = null;
  for (const node of nodes) {
    const [x, y] = [node.x - from.x, node.y - from.y];
    const ahead = x * dx + y * dy;
    const aside = Math.abs(x * dy - y * dx);
    if (node === from || ahead <= 0 || aside > ahead * 1.5) continue;
    const far = ahead + aside;
    if (!best || far < best.far) best = { node, far };
  }
  return best?.node ?? null;
}
