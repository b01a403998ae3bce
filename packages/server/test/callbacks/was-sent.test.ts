import { expect, test } from "vitest";
import { BlockedAddressError } from "#outbound";
import { mayHaveArrived } from "../../src/callbacks/was-sent.ts";

const failed = (code: string, syscall?: string): Error => Object.assign(new Error(code), { code, syscall });

test.for<[string, Error, boolean]>([
  ["was refused its connection", failed("ECONNREFUSED", "connect"), false],
  ["found no name", failed("ENOTFOUND", "getaddrinfo"), false],
  ["waited for its connection in vain", failed("UND_ERR_CONNECT_TIMEOUT"), false],
  ["was refused by each address", new AggregateError([failed("ECONNREFUSED", "connect"), failed("EHOSTUNREACH", "connect")]), false],
  ["was refused by one address and reset by another", new AggregateError([failed("ECONNREFUSED"), failed("ECONNRESET", "read")]), true],
  ["lost its connection because the host is gone", failed("EHOSTUNREACH", "read"), true],
  ["could not be written because the network is gone", failed("ENETUNREACH", "write"), true],
  ["was reset", failed("ECONNRESET", "read"), true],
  ["had no response", failed("UND_ERR_HEADERS_TIMEOUT"), true],
])("whether a request may have arrived that %s", ([, error, arrived]) => {
  expect(mayHaveArrived(error)).toBe(arrived);
});

test("a request to an address that is blocked has not arrived", () => {
  expect(mayHaveArrived(new BlockedAddressError("example.com", null))).toBe(false);
});
