// Light or dark: as the system has it, or as the reader chose on this machine.

import { useEffect, useState } from "preact/hooks";

const STORED = "palimpsest-theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const SCHEMES = { system: "light dark", light: "light", dark: "dark" };

export function useTheme() {
  const [theme, set] = useState(() => localStorage.getItem(STORED) ?? "system");
  useEffect(() => {
    document.documentElement.style.colorScheme = SCHEMES[theme] ?? SCHEMES.system;
    localStorage.setItem(STORED, theme);
  }, [theme]);
  return [theme, () => set(NEXT[theme] ?? "system")];
}
