import { type ReactNode, useEffect, useRef } from "react";
import { focusPage } from "./focus-back.ts";
import classes from "./PageFrame.module.css";

export interface PageFrameProps {
  readonly title: string;
  /** Beside the title: a state, an id. */
  readonly beside?: ReactNode;
  /** Links up: `Queues /`. */
  readonly above?: ReactNode;
  /** At the right: the page's buttons. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** The head of every page: its title, which is also the browser's, and its buttons. */
export function PageFrame({ title, beside, above, actions, children }: PageFrameProps) {
  const main = useRef<HTMLElement>(null);
  useEffect(() => focusPage(main.current), []);
  useEffect(() => {
    document.title = `${title} · Tidemill`;
  }, [title]);
  return (
    <main ref={main} className={classes.page} id="main" tabIndex={-1}>
      <header className={classes.header}>
        <div className={classes.titles}>
          {above && (
            <nav aria-label="Up" className={classes.above}>
              {above}
            </nav>
          )}
          <div className={classes.line}>
            <h1 className={classes.title}>{title}</h1>
            {beside}
          </div>
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </header>
      {children}
    </main>
  );
}
