import { VisuallyHidden } from "@mantine/core";
import { memo } from "react";
import { formatDuration } from "../../../time/format.ts";
import type { Axis } from "./fold-idle.ts";
import type { TimelineRow } from "./rows.ts";
import classes from "./Timeline.module.css";

interface TimelineLineProps {
  readonly row: TimelineRow;
  readonly index: number;
  readonly top: number;
  readonly axis: Axis;
  readonly isSelected: boolean;
  readonly isFirst: boolean;
  readonly onSelect: (id: string) => void;
}

/** A row of a timeline: a mark of its state, its name, a bar, how long it took. */
export const TimelineLine = memo(({ row, index, top, axis, isSelected, isFirst, onSelect }: TimelineLineProps) => {
  const { id, name, kind, status, span, isOpen, isIdle, note } = row;
  const left = axis.place(span.from);
  const width = Math.max(0, axis.place(span.to) - left);
  const took = formatDuration(span.to - span.from);
  return (
    <div
      role="option"
      data-row={index}
      data-status={status}
      aria-selected={isSelected}
      tabIndex={isSelected || isFirst ? 0 : -1}
      className={classes.row}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(isSelected ? "" : id)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onSelect(isSelected ? "" : id);
      }}
    >
      <span className={classes.name}>
        <span className={classes.mark} data-status={status} />
        <VisuallyHidden>{status}</VisuallyHidden>
        <span className={classes.nameText}>{name}</span>
        <span className={classes.kind}>{note || (kind === "step" ? "" : kind)}</span>
      </span>
      <span className={classes.track}>
        <span
          className={classes.bar}
          data-status={status}
          data-idle={isIdle || undefined}
          data-open={isOpen || undefined}
          style={{ left: `${left * 100}%`, width: `max(3px, ${width * 100}%)` }}
        />
      </span>
      <span className={classes.took}>{isOpen && !isIdle ? "" : took}</span>
    </div>
  );
});
