import { useAnswer } from "../answers.js";
import { segment } from "../api.js";
import { link } from "../place.js";
import { Empty, Loaded } from "../parts/lists.jsx";
import { Text, Time, Topic } from "../parts/words.jsx";

const SECTIONS = {
  who: "Who", health: "Health", work: "Work", likes: "Likes", more: "More", instructions: "Instructions", preferences: "Preferences",
  people: "People", tasks: "Open tasks",
};

export function Profile({ user }) {
  const found = useAnswer(`/users/${segment(user)}/profile`);
  return (
    <Loaded of={found}>
      {(profile) => (
        <>
          <div class="tiles">
            {profile.sections.map((section) => <Section key={section.kind} user={user} section={section} />)}
          </div>
          {!profile.sections.length && <Empty>Nothing is known of this user.</Empty>}
          {profile.sections.length > 0 && (
            <p class="quiet">{profile.tokens} of 400 tokens.{!profile.complete && " They were too few for all that is known."}</p>
          )}
        </>
      )}
    </Loaded>
  );
}

const Section = ({ user, section }) => (
  <section class="panel">
    <h2>{SECTIONS[section.kind] ?? section.kind}</h2>
    <ul class="rows">
      {section.lines.map((line) => (
        <li key={line.memory_id} class="said">
          <Text>{line.text}</Text>
          <p class="facts">
            {line.subject && <span dir="auto">{line.subject}</span>}
            {line.rests_on_changed && <span>what it rests on has changed</span>}
            {line.topic_key && <Topic>{line.topic_key}</Topic>}
            {line.due_at && <span>until <Time of={line.due_at} as="day" /></span>}
            <a href={`${link("users", user, "memories")}?memory=${line.memory_id}`} title={line.memory_id}>{line.memory_id.slice(0, 12)}…</a>
          </p>
        </li>
      ))}
    </ul>
  </section>
);
