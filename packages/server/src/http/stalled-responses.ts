import type { Api } from "./api.ts";

/** Disconnects a client that takes nothing of a response for `stalledMs`. Node replaces the timeout when the response is sent. */
export function endStalledResponses(api: Api, stalledMs: number): void {
  api.addHook("onSend", (_request, { raw }, payload, done) => {
    raw.setTimeout(stalledMs, () => raw.destroy());
    done(null, payload);
  });
}
