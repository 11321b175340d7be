import { useEffect, useRef } from "preact/hooks";

export function Tabs({ label, tabs, here, to }) {
  const nav = useRef();
  useEffect(() => {
    const current = nav.current.querySelector("[aria-current]");
    if (current) nav.current.scrollLeft = current.offsetLeft - nav.current.offsetLeft - 16;
  }, [here]);
  return (
    <nav class="tabs" aria-label={label} ref={nav}>
      {tabs.map(([name, shown]) => (
        <a key={name} href={to(name)} aria-current={name === here ? "page" : undefined}>{shown}</a>
      ))}
    </nav>
  );
}
