import type { QueryClient } from "@tanstack/react-query";
import { ROOT } from "../api/request.ts";
import { chance } from "./chance.ts";
import type { LiveState } from "./connection.ts";
import { Invalidator } from "./invalidate.ts";
import { TabGroup } from "./tab-group.ts";

/** How often a tab asks for what it shows, for each state. While it is live, because a notification may be lost. Milliseconds. */
const ASK_EVERY_MS: Readonly<Record<LiveState, number>> = { live: 30_000, polling: 5_000, offline: 5_000 };
/** Part of the time by which tabs differ. */
const JITTER = 0.2;

/**
 * Follows what changes in a workspace, while the tab can be seen: queries of kinds that have changed ask again. A hidden tab rests, and
 * asks for everything when it is shown.
 *
 * @returns what ends it
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
