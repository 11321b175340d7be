// Where the reader is: the part of the address after "#", as `/users/sarah/graph?seq=3`.

import { useEffect, useState } from "preact/hooks";
import { segment } from "./api.js";

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { at: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

export const link = (...at) => `#/${at.map(segment).join("/")}`;
export const go = (...at) => {
  location.hash = link(...at);
};

export function usePlace() {
  const [place, set] = useState(parse);
  useEffect(() => {
    const moved = () => set(parse());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}

export function useTitle(...names) {
  const title = [...names.filter(Boolean), "Palimpsest"].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
