// What feedback called wrong or missing, for a person to decide.

import { useAct, usePages } from "../answers.js";
import { api, segment } from "../api.js";
import { link, useTitle } from "../place.js";
import { More } from "../parts/lists.jsx";
import { Badge, Face, Text, Time, Topic } from "../parts/words.jsx";

export function Reviews() {
  useTitle("Reviews");
  const pages = usePages("/reviews", "reviews", { limit: 50 });
  return (
    <>
      <header class="head">
        <div><h1>Reviews</h1><p class="quiet">Feedback on recalls called these memories wrong, or missed something.</p></div>
      </header>
      <ul class="results" aria-label="Open reviews">
        {pages.rows.map((review) => <Review key={`${review.user_id}/${review.id}`} review={review} changed={pages.again} />)}
      </ul>
      <More pages={pages} empty="No review is open." />
    </>
  );
}

function Review({ review, changed }) {
  const { memory, user_id: user } = review;
  const [act, busy] = useAct();
  const root = `/users/${segment(user)}`;
  const close = () => api("DELETE", `${root}/reviews/${segment(review.id)}`);
  const keep = async () => {
    if (await act(close, "Closed. The memory stays as it is.")) changed();
  };
  const remove = async () => {
    const both = async () => {
      await api("DELETE", `${root}/memories/${segment(memory.id)}`);
      await close();
      return true;
    };
    if (await act(both, "The memory is deleted, and the review is closed.")) changed();
  };
  return (
    <li class="panel">
      <p class="facts">
        <Badge hue={review.kind === "wrong" ? "red" : "yellow"}>{review.kind}</Badge>
        <span class="who"><Face of={user} /><a href={link("users", user)}>{user}</a></span>
        <Time of={review.created_at} as="ago" />
      </p>
      {memory ? <Text>{memory.content}</Text> : <Text>{review.missing ?? ""}</Text>}
      {memory && <p class="facts"><Badge>{memory.type}</Badge>{memory.topic_key && <Topic>{memory.topic_key}</Topic>}<span>since <Time of={memory.valid_from} as="day" /></span></p>}
      <div class="bar">
        <button class="small" disabled={busy} onClick={keep}>{memory ? "Keep it" : "Close"}</button>
        {memory && <a class="small button" href={`${link("users", user, "memories")}?memory=${segment(memory.id)}`}>Edit it</a>}
        {memory && <button class="small danger" disabled={busy} onClick={remove}>Delete it</button>}
        {!memory && <a class="small button" href={link("users", user, "memories")}>Save it as a memory</a>}
      </div>
    </li>
  );
}
