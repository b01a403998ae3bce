import { useQueryClient } from "@tanstack/react-query";
import { useWorkspace } from "../app/workspace.tsx";
import type { Kind } from "./kinds.ts";

/** Records that take longer than this are shown when they arrive. Milliseconds. */
const MAX_WAIT_MS = 3_000;

/** Waits until records are read again after a change, but not for long: the change itself is done. */
export const briefly = (reading: Promise<unknown>): Promise<unknown> =>
  Promise.race([reading, new Promise((resolve) => setTimeout(resolve, MAX_WAIT_MS))]);

/** Returns a function that reads the records of a kind again after a change. */
export function useRefresh(kind: Kind): () => Promise<unknown> {
  const { id } = useWorkspace();
  const client = useQueryClient();
  return () => briefly(client.invalidateQueries({ queryKey: [id, kind] }));
}
