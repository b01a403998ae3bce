import { memo } from "react";
import type { ListRow } from "../../api/merge-pages.ts";
import { WsLink } from "../WsLink.tsx";
import type { Column, RowTarget } from "./columns.ts";
import classes from "./RowTable.module.css";
import type { Selection } from "./selection.ts";

interface RowProps<T> {
  readonly row: ListRow<T>;
  readonly index: number;
  readonly top: number;
  readonly columns: readonly Column<T>[];
  readonly target: RowTarget | undefined;
  readonly name: string;
  readonly isActive: boolean;
  readonly onActive: (index: number) => void;
  readonly selection: Selection | undefined;
  readonly order: readonly ListRow<T>[];
}

function RowOf<T>({ row, index, top, columns, target, name, isActive, onActive, selection, order }: RowProps<T>) {
  const selected = selection?.ids.has(row.id) ?? false;
  return (
    <div
      role="row"
      className={classes.row}
      data-row={index}
      data-gone={row.gone || undefined}
      aria-rowindex={index + 2}
      aria-selected={selection ? selected : undefined}
      tabIndex={isActive ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onFocus={() => onActive(index)}
    >
      {selection && (
        <div role="gridcell" className={classes.check}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${name}`}
            checked={selected}
            onChange={({ nativeEvent }) =>
              selection.toggle(
                row.id,
                (nativeEvent as MouseEvent).shiftKey,
                order.map(({ id }) => id),
              )
            }
          />
        </div>
      )}
      {columns.map(({ id, cell, align, wide }, at) => (
        <div key={id} role="gridcell" className={classes.cell} data-align={align} data-wide={wide || undefined}>
          {at === 0 && target ? (
            <WsLink to={target.to} params={target.params} className={classes.link}>
              {cell(row.record)}
            </WsLink>
          ) : (
            cell(row.record)
          )}
        </div>
      ))}
      {row.gone && <span className={classes.goneNote}>no longer in this list</span>}
    </div>
  );
}

/** A row of a `RowTable`. */
export const Row = memo(RowOf) as typeof RowOf;
