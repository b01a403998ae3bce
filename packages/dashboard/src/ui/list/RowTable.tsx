import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { ListRow } from "../../api/merge-pages.ts";
import type { Column, RowTarget } from "./columns.ts";
import { Row } from "./Row.tsx";
import classes from "./RowTable.module.css";
import type { Selection } from "./selection.ts";
import { useRowKeys } from "./use-row-keys.ts";

const ROW_HEIGHT = 34;
/** Rows above and below the window that are kept ready. */
const OVERSCAN = 12;

export interface RowTableProps<T> {
  readonly label: string;
  readonly rows: readonly ListRow<T>[];
  readonly columns: readonly Column<T>[];
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
export function RowTable<T>({ label, rows, columns, target, selection, nameOf, onVisible, onEnd }: RowTableProps<T>) {
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (body.current) setTop(body.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  const latest = useRef(rows);
  latest.current = rows;
  // Always the same: with another one, the places of all rows are worked out again. Rows do not move while their number is the same.
  const getItemKey = useCallback((index: number) => latest.current[index]?.id ?? index, []);
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    scrollMargin: top,
    scrollPaddingStart: 80,
    getItemKey,
  });
  const items = virtualizer.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => {
    onVisible?.(first, last);
    if (last >= rows.length - 1 - OVERSCAN) onEnd?.();
  }, [first, last, rows.length, onVisible, onEnd]);
  const { active, setActive, onKeyDown } = useRowKeys({ rows, selection, scrollTo: (index) => virtualizer.scrollToIndex(index), body });
  const tracks = [...(selection ? ["2rem"] : []), ...columns.map(({ width }) => width)].join(" ");
  const wideTracks = { "--tracks": tracks, "--narrow-tracks": narrowTracks(columns, selection !== undefined) } as CSSProperties;
  return (
    <div
      className={classes.table}
      role="grid"
      aria-label={label}
      aria-rowcount={-1}
      aria-multiselectable={selection ? true : undefined}
      style={wideTracks}
    >
      <div className={classes.head} role="row">
        {selection && <SelectAll rows={rows} selection={selection} />}
        {columns.map(({ id, header, align, wide }) => (
          <div key={id} role="columnheader" className={classes.header} data-align={align} data-wide={wide || undefined}>
            {header}
          </div>
        ))}
      </div>
      <div ref={body} role="rowgroup" className={classes.body} style={{ height: virtualizer.getTotalSize() }} onKeyDown={onKeyDown}>
        {items.map(({ index, key, start }) => {
          const row = rows[index];
          if (!row) return null;
          return (
            <Row
              key={key}
              row={row}
              index={index}
              top={start - virtualizer.options.scrollMargin}
              columns={columns}
              target={target?.(row.record)}
              name={nameOf?.(row.record) ?? row.id}
              isActive={index === active}
              onActive={setActive}
              selection={selection}
              order={rows}
            />
          );
        })}
      </div>
    </div>
  );
}

const narrowTracks = <T,>(columns: readonly Column<T>[], selectable: boolean): string =>
  [...(selectable ? ["2rem"] : []), ...columns.filter(({ wide }) => !wide).map(({ width }) => width)].join(" ");

function SelectAll<T>({ rows, selection }: { rows: readonly ListRow<T>[]; selection: Selection }) {
  const selected = rows.filter(({ id }) => selection.ids.has(id)).length;
  const all = rows.length > 0 && selected === rows.length;
  return (
    <div role="columnheader" className={classes.check}>
      <input
        type="checkbox"
        aria-label={`Select all ${rows.length} loaded rows`}
        checked={all}
        ref={(box) => {
          if (box) box.indeterminate = selected > 0 && !all;
        }}
        onChange={() => (all ? selection.clear() : selection.set(rows.map(({ id }) => id)))}
      />
    </div>
  );
}
