import { expect, test } from "vitest";
import { connectionError } from "../src/connection-error.ts";

const error = (code: string, syscall: string) => Object.assign(new Error(`${syscall} ${code}`), { code, syscall });

test.for([
  ["a connection that was refused", error("ECONNREFUSED", "connect"), true],
  ["a server that cannot be reached", error("EHOSTUNREACH", "connect"), true],
  ["a network that cannot be reached, as fetch says it", new TypeError("fetch failed", { cause: error("ENETUNREACH", "connect") }), true],
  ["a server that can no longer be reached, while its response is read", error("EHOSTUNREACH", "read"), false],
  ["a connection that broke", error("ECONNRESET", "read"), false],
] as const)("%s: whether the request was never sent", ([, cause, neverSent]) => {
  expect(connectionError("http://127.0.0.1", cause)).toMatchObject({ code: "NO_RESPONSE", neverSent });
});
