import { problem } from "#kernel";
import type { SessionRow } from "../sessions/session-store.ts";

/** @throws FORBIDDEN unless the person has confirmed who they are within the last ten minutes */
export function requireConfirmed({ confirmedUntil }: SessionRow): null {
  if (confirmedUntil === null) {
    throw problem("FORBIDDEN", { confirm: true }, { message: "Confirm first who you are, with your password or another proof." });
  }
  return null;
}
