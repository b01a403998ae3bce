import { Burger } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { Navigation } from "./Navigation.tsx";
import { rememberWorkspace } from "./preferences.ts";
import classes from "./Shell.module.css";
import { TopBar } from "./TopBar.tsx";
import { WorkspaceSwitcher } from "./WorkspaceSwitcher.tsx";
import { useWorkspaceOrNull } from "./workspace.tsx";

/** What stands around every page of people who are signed in. */
export function Shell({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const { pathname } = useLocation();
  const workspace = useWorkspaceOrNull();
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a narrow window, the navigation closes when the page changes.
  useEffect(() => setOpen(false), [pathname]);
  useEffect(() => {
    if (workspace) rememberWorkspace(workspace.id);
  }, [workspace]);
  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to the page
      </a>
      <div className={classes.narrowBar}>
        <Burger size="sm" opened={open} onClick={() => setOpen(!open)} aria-label={open ? "Close the navigation" : "Open the navigation"} />
        <TopBar />
      </div>
      <aside className={classes.side} data-open={open || undefined}>
        <WorkspaceSwitcher />
        <Navigation />
        <div className={classes.foot}>
          <TopBar />
        </div>
      </aside>
      <div className={classes.content}>{children}</div>
    </div>
  );
}
