import { type ReactNode, useEffect } from "react";
import classes from "./BareFrame.module.css";

/** A page without the shell: its title and a form. */
export function BareFrame({ title, children, foot }: { title: string; children: ReactNode; foot?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Tidemill`;
  }, [title]);
  return (
    <main className={classes.page} id="main">
      <div className={classes.card}>
        <p className={classes.brand}>Tidemill</p>
        <h1 className={classes.title}>{title}</h1>
        {children}
        {foot && <div className={classes.foot}>{foot}</div>}
      </div>
    </main>
  );
}
