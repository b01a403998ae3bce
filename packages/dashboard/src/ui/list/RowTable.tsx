import { type CSSProperties, useCallback, useEffect, useMemo, useRef } from "react";
import { idsOf, type RowsByPlace } from "../../api/rows.ts";
import type { Column, NarrowRow, RowTarget } from "./columns.ts";
import { Row } from "./Row.tsx";
import classes from "./RowTable.module.css";
import type { Selection } from "./selection.ts";
import { useIsNarrow } from "./use-is-narrow.ts";
import { useRowKeys } from "./use-row-keys.ts";
import { useRowsInWindow } from "./use-rows-in-window.ts";

const ROW_HEIGHT = 34;
/** On narrow windows, of rows with several lines. */
const LINE_HEIGHT = 24;
const ROW_PADDING = 12;

export interface RowTableProps<T> {
  readonly label: string;
  readonly rows: RowsByPlace<T>;
  readonly columns: readonly Column<T>[];
  /** How a row looks on a narrow window. Without it, it is one line of the columns that are not `wide`. */
  readonly narrow?: NarrowRow | undefined;
  readonly target?: (record: T) => RowTarget;
  readonly selection?: Selection | undefined;
  /** What a screen reader calls a row. */
  readonly nameOf?: (record: T) => string;
  readonly onVisible?: ((from: number, to: number) => void) | undefined;
  /** The last rows are near. */
  readonly onEnd?: (() => void) | undefined;
}

/**
 * A table of which only the rows in the window exist as elements. Arrow keys, Home, End and j and k move between rows, Enter opens one,
 * Space or x selects it, with Shift from the last selected one.
 */
export function RowTable<T>({ label, rows, columns, narrow, target, selection, nameOf, onVisible, onEnd }: RowTableProps<T>) {
  const body = useRef<HTMLDivElement>(null);
  const isNarrow = useIsNarrow();
  const lined = isNarrow ? narrow : undefined;
  const rowHeight = lined ? lined.lines.length * LINE_HEIGHT + ROW_PADDING : ROW_HEIGHT;
  const { places, isAtEnd, scrollTo } = useRowsInWindow(body, rows.length, rowHeight);
  const [first = 0, last = 0] = [places[0], places.at(-1)];
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page that comes.
  useEffect(() => {
    onVisible?.(first, last);
    if (isAtEnd) onEnd?.();
  }, [first, last, isAtEnd, rows.length, onVisible, onEnd]);
  const { active, setActive, onKeyDown } = useRowKeys({ rows, selection, scrollTo, body });
  const latest = useRef(rows);
  latest.current = rows;
  const toggle = selection?.toggle;
  const onToggle = useCallback((id: string, shift: boolean) => toggle?.(id, shift, latest.current), [toggle]);
  const shown = useMemo(
    () => columns.filter(({ id, wide }) => (lined ? lined.lines.some((line) => line.split(" ").includes(id)) : !(isNarrow && wide))),
    [columns, lined, isNarrow],
  );
  const [check, checkWidth] = selection ? ["check ", "2rem "] : ["", ""];
  const layout = {
    "--row-height": `${rowHeight}px`,
    "--tracks": checkWidth + (lined?.widths ?? shown.map(({ width }) => width).join(" ")),
    "--areas": lined?.lines.map((line) => `"${check}${line}"`).join(" "),
  } as CSSProperties;
  return (
    <div
      className={classes.table}
      role="grid"
      aria-label={label}
      aria-rowcount={-1}
      aria-multiselectable={selection ? true : undefined}
      data-lined={lined ? true : undefined}
      style={layout}
    >
      <div className={classes.head} role="row">
        {selection && <SelectAll rows={rows} selection={selection} />}
        {shown.map(({ id, header, align }) => (
          <div key={id} role="columnheader" className={classes.header} data-align={align}>
            {header}
          </div>
        ))}
      </div>
      <div ref={body} role="rowgroup" className={classes.body} style={{ height: rows.length * rowHeight }} onKeyDown={onKeyDown}>
        {places.map((place) => {
          const row = rows.at(place);
          if (!row) return null;
          return (
            <Row
              key={row.id}
              row={row}
              index={place}
              top={place * rowHeight}
              columns={shown}
              isLined={lined !== undefined}
              target={target}
              name={nameOf?.(row.record) ?? row.id}
              isActive={place === active}
              onActive={setActive}
              isSelected={selection?.ids.has(row.id)}
              onToggle={onToggle}
            />
          );
        })}
      </div>
    </div>
  );
}

function SelectAll<T>({ rows, selection }: { rows: RowsByPlace<T>; selection: Selection }) {
  const { ids } = selection;
  const all = useMemo(() => rows.length > 0 && ids.size >= rows.length && [...rows].every(({ id }) => ids.has(id)), [rows, ids]);
  return (
    <div role="columnheader" className={classes.check}>
      <input
        type="checkbox"
        aria-label={`Select all ${rows.length} loaded rows`}
        checked={all}
        ref={(box) => {
          if (box) box.indeterminate = ids.size > 0 && !all;
        }}
        onChange={() => (all ? selection.clear() : selection.set(idsOf(rows)))}
      />
    </div>
  );
}
