// A graph as a drawing: types in colours, names at nodes, and arrow keys from node to node.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "./icon.jsx";
import { layout, short, towards } from "./layout.js";

const HUES = ["blue", "teal", "orange", "green", "yellow", "red"];
const FIXED = { User: "violet", Preference: "pink" };
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const RADIUS = 11;
const SCALES = [1, 1.5, 2.25, 3.5];

function huesOf(nodes) {
  const others = [...new Set(nodes.map((node) => node.type))].filter((type) => !FIXED[type]).sort();
  const hues = Object.fromEntries(others.map((type, at) => [type, HUES[at % HUES.length]]));
  for (const node of nodes) if (FIXED[node.type]) hues[node.type] = FIXED[node.type];
  return hues;
}

export function Drawn({ nodes, edges, go }) {
  const drawn = useMemo(() => layout(nodes, edges), [nodes, edges]);
  const hues = huesOf(nodes);
  const [scale, zoom] = useState(0);
  const [centre] = nodes;
  return (
    <figure class="graph">
      <div class="bar">
        <Legend hues={hues} />
        <button class="small" aria-label="Smaller" disabled={scale === 0} onClick={() => zoom(scale - 1)}><Icon name="less" /></button>
        <button class="small" aria-label="Larger" disabled={scale === SCALES.length - 1} onClick={() => zoom(scale + 1)}><Icon name="more" /></button>
      </div>
      <div class="canvas" tabindex="0" role="group" aria-label={`The graph around ${centre.name}. Arrow keys go from node to node, Enter goes around it.`}>
        <Picture drawn={drawn} hues={hues} go={go} scale={SCALES[scale]} />
      </div>
    </figure>
  );
}

const Legend = ({ hues }) => (
  <ul class="legend grow" aria-label="Types">
    {Object.entries(hues).map(([type, hue]) => <li key={type}><span class={`dot ${hue}`} /> {type}</li>)}
  </ul>
);

function Picture({ drawn: { nodes, edges, box }, hues, go, scale }) {
  const svg = useRef();
  useEffect(() => {
    const canvas = svg.current.parentElement;
    canvas.scrollTo((canvas.scrollWidth - canvas.clientWidth) / 2, (canvas.scrollHeight - canvas.clientHeight) / 2);
  }, [scale]);
  const focus = (node) => svg.current.querySelector(`[data-place="${nodes.indexOf(node)}"]`)?.focus();
  const pressed = (node) => (event) => {
    if (ARROWS[event.key]) {
      event.preventDefault();
      const next = towards(nodes, node, ARROWS[event.key]);
      if (next) focus(next);
    } else if (event.key === "Enter" && leads(node)) go(node);
  };
  return (
    <svg ref={svg} viewBox={`${box.x} ${box.y} ${box.width} ${box.height}`} style={{ width: `${scale * 100}%`, maxWidth: `${Math.max(420, box.width * scale)}px` }}>
      {edges.map((edge) => <Edge key={edge.id} edge={edge} />)}
      {nodes.map((node, place) => (
        <g key={node.id} data-place={place} class={`node ${hues[node.type]}${place === 0 ? " centre" : ""}${leads(node) ? " leads" : ""}`}
          tabindex="0" role="button" aria-label={`${node.type}: ${short(node.shown)}`} onClick={leads(node) ? () => go(node) : undefined} onKeyDown={pressed(node)}
          transform={`translate(${node.x} ${node.y})`}>
          <circle r={place === 0 ? RADIUS * 1.4 : RADIUS} />
          <text y={RADIUS * (place === 0 ? 1.4 : 1) + 16}>{short(node.shown)}</text>
          <title>{`${node.type}: ${node.shown}`}</title>
        </g>
      ))}
    </svg>
  );
}

const leads = (node) => node.type !== "Preference";

const Edge = ({ edge: { source, target, type } }) => (
  <g class="edge">
    <line x1={source.x} y1={source.y} x2={target.x} y2={target.y} />
    <text x={(source.x + target.x) / 2} y={(source.y + target.y) / 2 - 5}>{type === "PREFERS" ? "" : short(type)}</text>
  </g>
);
