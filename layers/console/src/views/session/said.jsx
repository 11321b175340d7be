// One message of a conversation or context.

import { useEffect, useRef } from "preact/hooks";
import { count } from "../../figures.js";
import { Badge, Text, Time, hueOf } from "../../parts/words.jsx";

const MARKS = [["material", "material"], ["off_record", "off the record"], ["hidden", "deleted in part"]];

/** `place` says where the message is: `window`, `folded`, or `left the window`. */
export function Said({ message, marked, place }) {
  const here = useRef();
  useEffect(() => {
    if (marked) here.current.scrollIntoView({ block: "center" });
  }, [marked]);
  const marks = MARKS.filter(([name]) => message[name]);
  const classes = ["message", hueOf(message.role), marked && "marked", place && place !== "window" && "past"];
  return (
    <li class={classes.filter(Boolean).join(" ")} ref={here}>
      <p class="facts">
        <strong class="role">{message.role}</strong>
        {message.name && <span dir="auto">{message.name}</span>}
        {message.seq != null && <span class="number">#{message.seq}</span>}
        {message.tokens != null && <span class="number">{count(message.tokens)} tokens</span>}
        {message.created_at && <Time of={message.timestamp ?? message.created_at} />}
        {place && <Badge>{place}</Badge>}
        {marks.map(([name, shown]) => <Badge key={name}>{shown}</Badge>)}
      </p>
      {message.content != null && <Text>{message.content}</Text>}
      {message.tool_calls && <Text>{message.tool_calls}</Text>}
      {message.item && <Text>{message.item}</Text>}
    </li>
  );
}
