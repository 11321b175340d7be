import { useState } from "preact/hooks";
import { usePages } from "../answers.js";
import { byDay, compact, count, dollars } from "../figures.js";
import { link, useTitle } from "../place.js";
import { Columns } from "../parts/bars.jsx";
import { Select } from "../parts/fields.jsx";
import { More, Table } from "../parts/lists.jsx";

const KINDS = [["day", "day"], ["user", "user"], ["tenant", "whole tenant"]];
const nameOf = (row, by) => row.day ?? row.user_id ?? (by === "user" ? "erased users" : "all");
const tokens = (row) => row.tokens_in + row.tokens_out + row.embedding_tokens + row.chat_tokens_in + row.chat_tokens_out;
const cost = (row) => row.cost_usd + row.chat_cost_usd;

const PLOTS = [
  ["Messages", (row) => row.messages, count], ["Tokens of models", tokens, compact], ["Cost", cost, dollars],
];

const figure = (name, shown, read, print = count) => ({ name, shown, number: true, by: read, cell: (row) => print(read(row)) });
const FIGURES = [
  figure("messages", "Messages", (row) => row.messages), figure("bytes", "Bytes", (row) => row.bytes),
  figure("model", "Model calls", (row) => row.model_calls), figure("in", "Tokens in", (row) => row.tokens_in),
  figure("out", "Tokens out", (row) => row.tokens_out), figure("embedding", "Embeddings", (row) => row.embedding_calls),
  figure("chat", "Your own calls", (row) => row.chat_calls), figure("cached", "of them cached", (row) => row.chat_tokens_cached),
  figure("cost", "Cost", cost, dollars),
];

export function Usage() {
  useTitle("Usage");
  const [by, set] = useState("day");
  const pages = usePages("/usage", "usage", { by, limit: 100 }, [by]);
  const name = {
    name: by, shown: by === "user" ? "User" : "Day", head: true, by: (row) => nameOf(row, by),
    cell: (row) => (row.user_id ? <a href={link("users", row.user_id)}>{row.user_id}</a> : nameOf(row, by)),
  };
  return (
    <>
      <header class="head">
        <div><h1>Usage of this month</h1><p class="quiet">Needs a key with the scope admin. Messages are counted after some seconds.</p></div>
        <Select label="By" value={by} onChange={set} of={KINDS} />
      </header>
      {by === "day" && pages.rows.length > 0 && (
        <div class="thirds">
          {PLOTS.map(([label, read, print]) => (
            <section class="panel" key={label}>
              <Columns label={label} bars={byDay({ ...pages.last, usage: pages.rows }, (row) => (row ? read(row) : 0), print)} />
            </section>
          ))}
        </div>
      )}
      <Table label="Usage" columns={[name, ...FIGURES]} rows={pages.rows} id={(row) => nameOf(row, by)} />
      <More pages={pages} empty="Nothing was used." />
    </>
  );
}
