import { useQueryClient } from "@tanstack/react-query";
import { useWorkspace } from "../app/workspace.tsx";
import type { Kind } from "./kinds.ts";

/** Records that take longer to come are shown when they are there. Milliseconds. */
const MAX_WAIT_MS = 3_000;

/** Returns a function that reads the records of a kind again after a change. It waits for them, but not for long: the change is made. */
export function useRefresh(kind: Kind): () => Promise<void> {
  const { id } = useWorkspace();
  const client = useQueryClient();
  return () =>
    Promise.race([client.invalidateQueries({ queryKey: [id, kind] }), new Promise<void>((resolve) => setTimeout(resolve, MAX_WAIT_MS))]);
}
