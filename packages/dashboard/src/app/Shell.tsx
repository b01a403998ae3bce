import { ActionIcon } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { handleSession } from "../api/api.ts";
import { useLive } from "../live/use-live.ts";
import { Icon } from "../ui/Icon.tsx";
import { confirmAgain, sessionEnded } from "./dialogs.ts";
import { Navigation } from "./Navigation.tsx";
import { Palette } from "./Palette.tsx";
import { rememberWorkspace } from "./preferences.ts";
import { SessionDialogs } from "./SessionDialogs.tsx";
import classes from "./Shell.module.css";
import { Shortcuts } from "./Shortcuts.tsx";
import { TopBar } from "./TopBar.tsx";
import { WorkspaceSwitcher } from "./WorkspaceSwitcher.tsx";
import { useWorkspaceOrNull } from "./workspace.tsx";

/** The frame around every page of people who are signed in. */
export function Shell({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const [goingTo, setGoingTo] = useState(false);
  const openPalette = useCallback(() => setGoingTo(true), []);
  const { pathname } = useLocation();
  const workspace = useWorkspaceOrNull();
  useLive(workspace?.id);
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a narrow window, the navigation closes when the page changes.
  useEffect(() => setOpen(false), [pathname]);
  useEffect(() => {
    if (workspace) rememberWorkspace(workspace.id);
  }, [workspace]);
  useEffect(() => handleSession({ onEnded: sessionEnded, confirm: confirmAgain }), []);
  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to the page
      </a>
      <div className={classes.narrowBar}>
        <ActionIcon
          size="lg"
          aria-expanded={open}
          aria-label={open ? "Close the navigation" : "Open the navigation"}
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "close" : "menu"} />
        </ActionIcon>
        <TopBar />
      </div>
      <aside className={classes.side} data-open={open || undefined}>
        <WorkspaceSwitcher />
        <button type="button" className={classes.search} onClick={openPalette}>
          <Icon name="search" size={14} />
          <span>Go to…</span>
          <kbd>⌘K</kbd>
        </button>
        <Navigation />
        <div className={classes.foot}>
          <TopBar />
        </div>
      </aside>
      <div className={classes.content}>{children}</div>
      <Palette opened={goingTo} onClose={() => setGoingTo(false)} />
      <Shortcuts onPalette={openPalette} />
      <SessionDialogs />
    </div>
  );
}
