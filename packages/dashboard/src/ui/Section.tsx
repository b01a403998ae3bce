import { type ReactNode, useId } from "react";
import classes from "./Section.module.css";

/** A part of a page with a heading. */
export function Section({ title, beside, children }: { title: string; beside?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section className={classes.section} aria-labelledby={id}>
      <div className={classes.line}>
        <h2 id={id} className={classes.title}>
          {title}
        </h2>
        {beside}
      </div>
      {children}
    </section>
  );
}
