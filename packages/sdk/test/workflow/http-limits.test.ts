import { HttpCall, LIMITS } from "@tidemill/contract";
import { workflow } from "@tidemill/sdk";
import { testWorkflow } from "@tidemill/sdk/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileCheck } from "../../../server/src/http/index.ts";
import { runSynchronously } from "../../../server/src/kernel/index.ts";
import { checkCallTemplates, readCall } from "../../../server/src/workflows/calls/index.ts";
import { httpCall } from "../../src/workflow/http-call.ts";

const faultOf = compileCheck(HttpCall);

/** Whether the service takes a call, as its schema and its checks say. */
function isTaken(call: object): boolean {
  try {
    if (faultOf(call)) return false;
    runSynchronously(checkCallTemplates([{ call: readCall(call as HttpCall, "http") }]));
    return true;
  } catch {
    return false;
  }
}

function isAllowed(request: object): boolean {
  try {
    httpCall(request as never, "a step");
    return true;
  } catch {
    return false;
  }
}

const URL_OF = "https://example.com/";
const headers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, ""]));
const secrets = (count: number) => Array.from({ length: count }, (_, at) => `\${{ secrets.S${at} }}`);
const ENVELOPE = JSON.stringify({ method: "POST", url: URL_OF, headers: {}, body: "", timeoutMs: 30_000 }).length;

describe("step.http refuses what the service refuses", () => {
  test.for<[string, object]>([
    ["attempts", { attempts: 101 }],
    ["backoff.delay", { backoff: { delay: 86_400_001 } }],
    ["timeout", { timeout: LIMITS.httpTimeoutMs + 1 }],
    ["method", { method: "GETT" }],
    ["bdy is not an option of step.http. Did you mean body?", { bdy: 1 }],
    ["url must have at most 2048 characters", { url: URL_OF.padEnd(LIMITS.callbackUrlLength + 1, "a") }],
    ["url", { url: `${URL_OF}a b` }],
    ["url", { url: `${URL_OF}#a` }],
    ["url", { url: "https://${{ secrets.HOST }}/" }],
    ["url", { url: "https:///${{ secrets.HOST }}" }],
    ["url", { url: "https://example.com:${{ secrets.PORT }}/" }],
    ["url", { url: `${URL_OF}\${{ secret.KEY }}` }],
    ["headers", { headers: headers(LIMITS.callbackHeaders + 1) }],
    ["headers", { headers: { "bad name": "" } }],
    ["headers must not have Host", { headers: { Host: "a" } }],
    ["headers", { headers: { "proxy-a": "" } }],
    ["headers", { headers: { ["a".repeat(257)]: "" } }],
    ["headers.a must be a string, not 5.", { headers: { a: 5 } }],
    ["headers.a", { headers: { a: "a\r\nb: c" } }],
    ["headers.a", { headers: { a: "a".repeat(LIMITS.callbackHeaderLength + 1) } }],
    ["headers.a", { headers: { a: "${{ secrets.A" } }],
    ["body.a[0] has ${{ without a template. Write ${{ secrets.NAME }}.", { body: { a: ["${{ secret.X }}"] } }],
    ["body has a template in the name of a member", { body: { "${{ secrets.X }}": 1 } }],
    ["at most 100 different secrets, not 101", { body: secrets(LIMITS.callbackSecrets + 1) }],
    ["at most 1048576 bytes", { body: "a".repeat(LIMITS.payloadBytes - ENVELOPE + 1) }],
  ])("%s", ([message, fields]) => {
    const request = { url: URL_OF, ...fields };
    expect(() => httpCall(request as never, "a step")).toThrow(message);
    expect(isTaken(request)).toBe(false);
  });

  test.for<[string, object]>([
    ["attempts", { attempts: 100 }],
    ["a backoff", { backoff: { delay: 86_400_000 } }],
    ["a timeout", { timeout: LIMITS.httpTimeoutMs }],
    ["an address", { url: URL_OF.padEnd(LIMITS.callbackUrlLength, "a") }],
    ["headers", { headers: headers(LIMITS.callbackHeaders) }],
    ["the name of a header", { headers: { ["a".repeat(256)]: "" } }],
    ["the value of a header", { headers: { a: "ä".repeat(LIMITS.callbackHeaderLength) } }],
    ["secrets", { url: `${URL_OF}?\${{ secrets.S0 }}`, headers: { a: "${{secrets.S1}}" }, body: secrets(LIMITS.callbackSecrets) }],
    ["bytes", { body: "a".repeat(LIMITS.payloadBytes - ENVELOPE) }],
  ])("and takes as many %s as the service does", ([, fields]) => {
    const request = { url: URL_OF, ...fields };
    expect([isAllowed(request), isTaken(request)]).toEqual([true, true]);
  });

  test("templates, whatever they look like", () => {
    const part = fc.constantFrom(
      "${{",
      "}}",
      "${",
      "{",
      " ",
      "\t",
      "secrets",
      ".",
      "A",
      "a",
      "_1",
      "S2",
      "secrets.KEY",
      "${{ secrets.KEY }}",
    );
    const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
    const address = fc.tuple(fc.constantFrom("http://", "HTTPS://", "http://a", "http://a/", "http://a/?b=", "http://a:1"), text);
    fc.assert(
      fc.property(text, address, (body, [start, end]) => {
        for (const request of [{ url: URL_OF, body }, { url: URL_OF, headers: { a: body } }, { url: start + end }])
          expect([request, isAllowed(request)]).toEqual([request, isTaken(request)]);
      }),
      { numRuns: 2_000 },
    );
  });
});

test("in testWorkflow, a call that the service would refuse fails the run before steps beside it begin", async () => {
  const both = workflow({ id: "both" }, ({ step }) =>
    Promise.all([step.run("charge", () => "ch_1"), step.http("call", { url: URL_OF, attempts: 101 })]),
  );
  const run = await testWorkflow(both, { mocks: { call: { status: 200 } } });
  const message = 'Step "call": attempts of a call must be at most 100, not 101.';
  expect(run).toMatchObject({ status: "failed", attempt: 1, steps: [], error: { name: "InvalidStepError", message } });
});
