import type { Api } from "./api.ts";

/** Larger bodies have the time of a request. */
const MAX_SMALL_BYTES = 64 * 1024;

/**
 * Ends a request whose small body does not arrive in time, as Node does with a request that takes too long. Most bodies arrive together
 * with their head and need no timer.
 */
export function limitBodyTime(api: Api, maxMs: number): void {
  const end = (socket: NodeJS.Socket) => {
    const error = Object.assign(new Error("The body did not arrive in time."), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
    api.server.emit("clientError", error, socket);
  };
  api.addHook("preParsing", ({ raw, headers }, _reply, payload, done) => {
    if (!raw.complete && Number(headers["content-length"]) <= MAX_SMALL_BYTES) {
      const timer = setTimeout(() => raw.complete || end(raw.socket), maxMs);
      raw.once("close", () => clearTimeout(timer));
    }
    done(null, payload);
  });
}
