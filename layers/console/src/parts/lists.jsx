// Lists: what is shown while they load, are empty or fail, and tables that sort.

import { useState } from "preact/hooks";
import { Icon } from "./icon.jsx";

export const Wrong = ({ error }) => <p class="notice wrong" role="alert"><Icon name="alert" /> {error.message}</p>;
export const Loading = () => <p class="quiet loading">Loading …</p>;
export const Empty = ({ children }) => <p class="empty">{children}</p>;

export const More = ({ pages, empty }) => (
  <>
    {pages.error && <Wrong error={pages.error} />}
    {pages.loading && <Loading />}
    {!pages.loading && !pages.error && !pages.rows.length && <Empty>{empty}</Empty>}
    {pages.next && !pages.loading && <button class="more" onClick={pages.more}>Show more</button>}
  </>
);

export const Loaded = ({ of, children }) => {
  if (of.error) return <Wrong error={of.error} />;
  return of.answer ? children(of.answer) : <Loading />;
};

const compared = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));

function sorted(rows, column, isDown) {
  if (!column) return rows;
  const known = rows.filter((row) => column.by(row) != null);
  const unknown = rows.filter((row) => column.by(row) == null);
  known.sort((a, b) => compared(column.by(a), column.by(b)));
  return [...(isDown ? known.reverse() : known), ...unknown];
}

/**
 * A table whose columns sort the rows that are loaded. On narrow screens each row is a card.
 *
 * columns: [{name, shown?, by?: row => value, cell: row => content, number?, head?}]; `detail(row)` is a row below.
 */
export function Table({ label, columns, rows, id, detail, className = "" }) {
  const [order, set] = useState({ name: null, down: false });
  const turn = (name) => set({ name, down: order.name === name && !order.down });
  const shown = sorted(rows, columns.find((each) => each.name === order.name), order.down);
  const direction = (name) => {
    if (order.name !== name) return undefined;
    return order.down ? "descending" : "ascending";
  };
  if (!rows.length) return null;
  return (
    <div class="sheet">
      <table class={className} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={column.number ? "number" : ""} aria-sort={direction(column.name)}>
                <Heading column={column} order={order} turn={turn} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => <Row key={id(row)} {...{ row, columns, detail }} />)}
        </tbody>
      </table>
    </div>
  );
}

function Heading({ column, order, turn }) {
  const shown = column.shown ?? column.name;
  if (!column.by) return <span class={column.silent ? "silent" : ""}>{shown}</span>;
  const icon = order.down ? "down" : "up";
  return (
    <button class="sort" onClick={() => turn(column.name)}>
      {shown}{order.name === column.name && <Icon name={icon} size={12} />}
    </button>
  );
}

function Row({ row, columns, detail }) {
  const below = detail?.(row);
  return (
    <>
      <tr class={below ? "open" : ""}>
        {columns.map((column) => {
          const Cell = column.head ? "th" : "td";
          return (
            <Cell key={column.name} scope={column.head ? "row" : undefined} class={column.number ? "number" : ""} data-name={column.silent ? "" : (column.shown ?? column.name)}>
              {column.cell(row)}
            </Cell>
          );
        })}
      </tr>
      {below && <tr class="detail"><td colspan={columns.length}>{below}</td></tr>}
    </>
  );
}
