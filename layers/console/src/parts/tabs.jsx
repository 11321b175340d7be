export const Tabs = ({ label, tabs, here, to }) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(([name, shown]) => (
      <a key={name} href={to(name)} aria-current={name === here ? "page" : undefined}>{shown}</a>
    ))}
  </nav>
);
