import { submitted, usePages } from "../answers.js";
import { go, link, useTitle } from "../place.js";
import { Field } from "../parts/fields.jsx";
import { More, Table } from "../parts/lists.jsx";
import { Face, Time } from "../parts/words.jsx";

const COLUMNS = [
  {
    name: "User", head: true, by: (user) => user.user_id,
    cell: (user) => (
      <span class="who">
        <Face of={user.name ?? user.user_id} />
        <a href={link("users", user.user_id)}>{user.user_id}</a>
        {user.name && <span class="quiet" dir="auto">{user.name}</span>}
      </span>
    ),
  },
  { name: "Memories", number: true, by: (user) => user.memories?.total, cell: (user) => user.memories?.total ?? "–" },
  { name: "Sessions", number: true, by: (user) => user.sessions?.total, cell: (user) => user.sessions?.total ?? "–" },
  { name: "Last activity", by: (user) => user.last_activity, cell: (user) => <Time of={user.last_activity} as="ago" /> },
];

export function Users() {
  useTitle("Users");
  const pages = usePages("/users", "users", { counts: true, limit: 50 });
  return (
    <>
      <header class="head">
        <h1>Users</h1>
        <form class="bar" onSubmit={submitted(({ user }) => user && go("users", user))}>
          <Field label="Open a user by id" name="user" required autocomplete="off" />
          <button>Open</button>
        </form>
      </header>
      <Table label="Users" columns={COLUMNS} rows={pages.rows} id={(user) => user.user_id} />
      <More pages={pages} empty="No user has a session or a memory yet." />
    </>
  );
}
