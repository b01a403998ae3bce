import type { QueueCircuit } from "@tidemill/contract";
import type { Static } from "typebox";
import { findCircuit } from "#circuits";
import type { Db } from "#kernel";
import { readCallbackUrl } from "#outbound";
import type { Queue } from "./queue.ts";

/** A queue's circuit as the API shows it. */
export async function readCircuit(db: Db, { callback_url, workspace_id, id }: Queue): Promise<Static<typeof QueueCircuit>> {
  const found = callback_url === null ? null : await findCircuit(db, { workspaceId: workspace_id, laneId: id });
  if (!found || callback_url === null) return { state: "closed", host: null, opened_at: null, next_probe_at: null, last_error: null };
  return {
    state: "open",
    host: readCallbackUrl(callback_url).hostname,
    opened_at: found.opened_at,
    next_probe_at: found.probe_at,
    last_error: JSON.parse(found.last_error),
  };
}
