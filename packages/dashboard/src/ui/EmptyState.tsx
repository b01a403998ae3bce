import type { ReactNode } from "react";
import classes from "./states.module.css";

/** Says that there is nothing to show, and what to do next. */
export function EmptyState({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <h2 className={classes.emptyTitle}>{title}</h2>
      {children && <div className={classes.emptyText}>{children}</div>}
      {action && <div className={classes.emptyAction}>{action}</div>}
    </div>
  );
}
