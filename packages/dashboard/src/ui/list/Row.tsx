import { memo } from "react";
import type { ListRow } from "../../api/rows.ts";
import { WsLink } from "../WsLink.tsx";
import type { Column, RowTarget } from "./columns.ts";
import classes from "./RowTable.module.css";

interface RowProps<T> {
  readonly row: ListRow<T>;
  readonly index: number;
  readonly top: number;
  readonly columns: readonly Column<T>[];
  /** Whether its cells are in several lines, each in the area of its name. */
  readonly isLined: boolean;
  readonly target: ((record: T) => RowTarget) | undefined;
  readonly name: string;
  readonly isActive: boolean;
  readonly onActive: (index: number) => void;
  /** Undefined where nothing can be selected. */
  readonly isSelected: boolean | undefined;
  readonly onToggle: (id: string, shift: boolean) => void;
}

const CHECK = { gridArea: "check" };

function RowOf<T>({ row, index, top, columns, isLined, target, name, isActive, onActive, isSelected, onToggle }: RowProps<T>) {
  const leadsTo = target?.(row.record);
  return (
    <div
      role="row"
      className={classes.row}
      data-row={index}
      data-gone={row.gone || undefined}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      tabIndex={isActive ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onFocus={() => onActive(index)}
    >
      {isSelected !== undefined && (
        <div role="gridcell" className={classes.check} style={isLined ? CHECK : undefined}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${name}`}
            checked={isSelected}
            onChange={({ nativeEvent }) => onToggle(row.id, (nativeEvent as MouseEvent).shiftKey)}
          />
        </div>
      )}
      {columns.map(({ id, cell, align, unit }, at) => (
        <div key={id} role="gridcell" className={classes.cell} data-align={align} style={isLined ? { gridArea: id } : undefined}>
          {at === 0 && leadsTo ? (
            <WsLink to={leadsTo.to} params={leadsTo.params} className={classes.link}>
              {cell(row.record)}
            </WsLink>
          ) : (
            cell(row.record)
          )}
          {isLined && unit && ` ${unit}`}
        </div>
      ))}
      {row.gone && <span className={classes.goneNote}>no longer in this list</span>}
    </div>
  );
}

/** A row of a `RowTable`. */
export const Row = memo(RowOf) as typeof RowOf;
