import { type KeyboardEvent, useRef } from "react";
import { formatDuration, formatExact } from "../../../time/format.ts";
import { useZone } from "../../../time/zone.ts";
import { useRowsInWindow } from "../../../ui/list/use-rows-in-window.ts";
import type { Axis, Span } from "./fold-idle.ts";
import type { TimelineRow } from "./rows.ts";
import classes from "./Timeline.module.css";
import { TimelineLine } from "./TimelineLine.tsx";

const ROW_HEIGHT = 30;

export interface TimelineProps {
  readonly rows: readonly TimelineRow[];
  readonly axis: Axis;
  readonly whole: Span;
  /** The id of the row whose details are shown. */
  readonly selected: string;
  readonly onSelect: (id: string) => void;
}

/** What happened in a run, row by row, with its idle time folded. Only the rows in the window exist as elements. */
export function Timeline({ rows, axis, whole, selected, onSelect }: TimelineProps) {
  const body = useRef<HTMLDivElement>(null);
  const { places, scrollTo } = useRowsInWindow(body, rows.length, ROW_HEIGHT);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" || event.key === "j" ? 1 : event.key === "ArrowUp" || event.key === "k" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = rows.findIndex(({ id }) => id === selected);
    const next = Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + step));
    onSelect(rows[next]?.id ?? "");
    scrollTo(next);
    requestAnimationFrame(() => body.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus());
  };
  return (
    <div className={classes.timeline} role="listbox" aria-label="Timeline" tabIndex={-1} onKeyDown={onKeyDown}>
      <AxisLine whole={whole} />
      <div ref={body} className={classes.rows} style={{ height: rows.length * ROW_HEIGHT }}>
        {places.map((place) => {
          const row = rows[place] as TimelineRow;
          return (
            <TimelineLine
              key={row.id}
              row={row}
              index={place}
              top={place * ROW_HEIGHT}
              axis={axis}
              isSelected={row.id === selected}
              isFirst={place === 0 && !rows.some(({ id }) => id === selected)}
              onSelect={onSelect}
            />
          );
        })}
        <Folds axis={axis} />
      </div>
    </div>
  );
}

function AxisLine({ whole }: { whole: Span }) {
  const { zone } = useZone();
  return (
    <div className={classes.axis} aria-hidden="true">
      <span>Step</span>
      <span className={classes.scale}>
        <span>{formatExact(whole.from, zone).slice(0, 19)}</span>
        <span>{formatDuration(whole.to - whole.from)}</span>
      </span>
      <span className={classes.end}>Took</span>
    </div>
  );
}

function Folds({ axis }: { axis: Axis }) {
  return (
    <div className={classes.folds} aria-hidden="true">
      <div className={classes.foldTrack}>
        {axis.folds.map(({ from, to, left, width }) => (
          <span
            key={from}
            className={classes.fold}
            style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
            title={`${formatDuration(to - from)} in which nothing ran`}
          />
        ))}
      </div>
    </div>
  );
}
