import type { ServerResponse } from "node:http";

/** For small responses a timeout costs more than it is worth: a connection holds only few of them that are not taken. */
const MIN_WATCHED_LENGTH = 4 * 1024;

/** Disconnects a client that takes nothing of a response for `stalledMs`. Node replaces the timeout when the response is sent. */
export function endIfStalled(response: ServerResponse, payload: unknown, stalledMs: number): void {
  if (typeof payload !== "string" || payload.length >= MIN_WATCHED_LENGTH) response.setTimeout(stalledMs, () => response.destroy());
}
