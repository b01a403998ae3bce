import { TidemillError } from "@tidemill/sdk";
import { describe, expect, test } from "vitest";
import { maySendAgain, waitBeforeNext } from "../src/retry.ts";

const error = (facts: Partial<ConstructorParameters<typeof TidemillError>[0]>) =>
  new TidemillError({ code: "INTERNAL", message: "It failed.", ...facts });

describe("which failed requests are sent again", () => {
  test.for([
    ["a 429", error({ code: "RATE_LIMITED", status: 429 }), true, true],
    ["a connection that was never made", error({ code: "NO_RESPONSE", neverSent: true }), true, true],
    ["a connection that broke", error({ code: "NO_RESPONSE" }), true, false],
    ["a timeout", error({ code: "TIMEOUT" }), true, false],
    ["a 500", error({ status: 500 }), true, false],
    ["a 503", error({ code: "UNAVAILABLE", status: 503 }), true, false],
    ["a proxy's 502", error({ code: "UNEXPECTED_RESPONSE", status: 502 }), true, false],
    ["a 400", error({ code: "VALIDATION_ERROR", status: 400 }), false, false],
    ["a 402", error({ code: "QUOTA_EXCEEDED", status: 402 }), false, false],
    ["a 404", error({ code: "NOT_FOUND", status: 404 }), false, false],
    ["a 409", error({ code: "CONFLICT", status: 409 }), false, false],
    ["a redirect", error({ code: "UNEXPECTED_RESPONSE", status: 302 }), false, false],
  ] as const)("%s", ([, failed, repeatable, other]) => {
    expect(maySendAgain(failed, { repeatable: true })).toBe(repeatable);
    expect(maySendAgain(failed, { repeatable: false })).toBe(other);
  });
});

describe("how long the wait before the next try is", () => {
  test("it doubles up to five seconds, and chance takes up to half of it away", () => {
    const waits = [1, 2, 3, 6, 7, 20].map((tries) => [waitBeforeNext(error({}), tries, 0), waitBeforeNext(error({}), tries, 1)]);
    expect(waits).toEqual([
      [100, 50],
      [200, 100],
      [400, 200],
      [3_200, 1_600],
      [5_000, 2_500],
      [5_000, 2_500],
    ]);
  });

  test("it is never shorter than the response asked for", () => {
    const asked = error({ status: 429, retryAfterMs: 7_000 });
    expect(waitBeforeNext(asked, 1, 0)).toBe(7_000);
    expect(waitBeforeNext(asked, 1, 1)).toBe(8_750);
  });

  test("a response that asks for no wait gets some", () => {
    const asked = error({ status: 503, retryAfterMs: 0 });
    expect(waitBeforeNext(asked, 1, 0)).toBe(100);
    expect(waitBeforeNext(asked, 3, 1)).toBe(500);
  });
});
