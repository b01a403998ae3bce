import type { QueueCircuit } from "@tidemill/contract";
import type { Static } from "typebox";
import { type CircuitRow, findCircuit } from "#circuits";
import type { Db } from "#kernel";
import { readCallbackUrl } from "#outbound";
import type { Queue } from "./queue.ts";

/** A queue's circuit as the API shows it. */
export const readCircuit = async (db: Db, queue: Queue): Promise<Static<typeof QueueCircuit>> =>
  showCircuit(queue, queue.callback_url === null ? null : await findCircuit(db, { workspaceId: queue.workspace_id, laneId: queue.id }));

/** @param found null while it is closed */
export function showCircuit({ callback_url }: Queue, found: CircuitRow | null): Static<typeof QueueCircuit> {
  if (!found || callback_url === null) return { state: "closed", host: null, opened_at: null, next_probe_at: null, last_error: null };
  return {
    state: "open",
    host: readCallbackUrl(callback_url).hostname,
    opened_at: found.opened_at,
    next_probe_at: found.probe_at,
    last_error: JSON.parse(found.last_error),
  };
}
