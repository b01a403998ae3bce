import type { Api } from "./api.ts";

/**
 * Disconnects a client that takes nothing of a response for `stalledMs`. Node ends a connection whose timeout passes, and replaces the
 * timeout when the response is sent.
 */
export function endStalledResponses(api: Api, stalledMs: number): void {
  api.addHook("onSend", (_request, { raw }, payload, done) => {
    raw.setTimeout(stalledMs);
    done(null, payload);
  });
}
