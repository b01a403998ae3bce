import type { QueryClient } from "@tanstack/react-query";
import { ROOT } from "../api/request.ts";
import { chance } from "./chance.ts";
import type { LiveState } from "./connection.ts";
import { Invalidator } from "./invalidate.ts";
import { TabGroup } from "./tab-group.ts";

/**
 * How often a tab requests the data that it shows, for each state. It does so even while it is live, because a notification may be lost.
 * Milliseconds.
 */
const ASK_EVERY_MS: Readonly<Record<LiveState, number>> = { live: 30_000, polling: 5_000, offline: 5_000 };
/** The part of the interval that is random, so that tabs differ. */
const JITTER = 0.2;

/**
 * Follows what changes in a workspace, while the tab is visible: queries of kinds that have changed run again. A hidden tab does nothing,
 * and requests everything when it is shown.
 *
 * @returns a function that ends it
 */
export function followWorkspace(client: QueryClient, workspaceId: string, onState: (state: LiveState | null) => void): () => void {
  const url = `${ROOT}api/${encodeURIComponent(workspaceId)}/v1/live`;
  const invalidator = new Invalidator(client, workspaceId);
  let group: TabGroup | null = null;
  let state: LiveState = "live";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ask = () => {
    invalidator.invalidate(null);
    askLater();
  };
  const askLater = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, ASK_EVERY_MS[state] * (1 - JITTER + 2 * JITTER * chance()));
  };
  const begin = () => {
    group = new TabGroup({
      url,
      onChange: (kinds) => invalidator.invalidate(kinds),
      onState: (next) => {
        const isNew = next !== state;
        state = next;
        onState(next);
        if (isNew) askLater();
      },
    });
    askLater();
  };
  const rest = () => {
    group?.leave();
    group = null;
    clearTimeout(timer);
  };
  const onVisibility = () => {
    if (document.hidden) return rest();
    if (group) return;
    invalidator.invalidate(null);
    begin();
  };
  document.addEventListener("visibilitychange", onVisibility);
  if (!document.hidden) begin();
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    rest();
    invalidator.close();
    onState(null);
  };
}
