import type { QueueCircuit } from "@tidemill/contract";
import type { Static } from "typebox";
import type { Db } from "#kernel";
import { type Queue, readCallbackUrl } from "#queues";
import { findCircuit } from "./circuit-store.ts";

/** A queue's circuit as the API shows it. */
export async function circuitOf(db: Db, queue: Queue): Promise<Static<typeof QueueCircuit>> {
  const found = queue.callback_url === null ? null : await findCircuit(db, queue.workspace_id, queue.id);
  if (!found || queue.callback_url === null) return { state: "closed", host: null, opened_at: null, next_probe_at: null, last_error: null };
  return {
    state: "open",
    host: readCallbackUrl(queue.callback_url).hostname,
    opened_at: found.opened_at,
    next_probe_at: found.probe_at,
    last_error: JSON.parse(found.last_error),
  };
}
