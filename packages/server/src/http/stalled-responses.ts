import type { Api } from "./api.ts";

/** Setting a timeout costs a small response more than it is worth: of those, a connection holds few that are not taken. */
const MIN_WATCHED_LENGTH = 4 * 1024;

/** Disconnects a client that takes nothing of a response for `stalledMs`. Node replaces the timeout when the response is sent. */
export function endStalledResponses(api: Api, stalledMs: number): void {
  api.addHook("onSend", (_request, { raw }, payload, done) => {
    if (typeof payload !== "string" || payload.length >= MIN_WATCHED_LENGTH) raw.setTimeout(stalledMs, () => raw.destroy());
    done(null, payload);
  });
}
