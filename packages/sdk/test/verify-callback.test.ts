import { createHmac } from "node:crypto";
import { InvalidSignatureError, type RawRequest, verifyCallback } from "@tidemill/sdk";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { readVectors } from "../../server/test/harness/vectors.ts";
import { findFault } from "../src/verify/signature.ts";
import { failureOf } from "./harness/failure.ts";

const { verify, sign } = readVectors("signatures");
const SECRET = "cbs_pJ0yqXcS3nUzvR1bW5d8tKfHmLgQaEoYiCxN2V7T4Zs";
const NOW = 1_795_262_400;
const BODY = '{"id":"job_1","attempt":1,"payload":{"to":"ada@example.com"}}';

afterEach(() => void vi.useRealTimers());

const setNow = (seconds: number) => vi.setSystemTime(seconds * 1000);

function headersFor(body: string, secret = SECRET): Record<string, string> {
  const digest = createHmac("sha256", secret).update(`job_1.${NOW}.${body}`).digest("base64");
  return { "x-service-job-id": "job_1", "x-service-timestamp": String(NOW), "x-service-signature": `v1,${digest}` };
}

describe("the shared vectors", () => {
  test.for(verify.map((one) => [one.name, one] as const))("%s", async ([, { secrets, now, headers, body, valid }]) => {
    const content = {
      id: headers["x-service-job-id"] ?? null,
      timestamp: headers["x-service-timestamp"] ?? null,
      signature: headers["x-service-signature"] ?? null,
      body: new TextEncoder().encode(body),
    };
    expect((await findFault(content, secrets, now)) === null).toBe(valid);
  });

  test.for(verify.filter(({ secrets, body }) => secrets.length > 0 && body !== "").map((one) => [one.name, one] as const))(
    "the same of a request: %s",
    async ([, { secrets, now, headers, body, valid }]) => {
      setNow(now);
      const outcome = await verifyCallback({ headers, body }, secrets).then(
        () => true,
        (error: unknown) => (error instanceof InvalidSignatureError ? false : error),
      );
      expect(outcome).toBe(valid);
    },
  );

  test.for(sign.map((one) => [one.name, one] as const))("a signature: %s", async ([, { secret, id, timestamp, body, signature }]) => {
    const content = { id, timestamp: String(timestamp), signature, body: new TextEncoder().encode(body) };
    expect(await findFault(content, [secret], timestamp)).toBeNull();
  });
});

describe("what a callback can be given as", () => {
  const headers = headersFor(BODY);
  const bytes = new TextEncoder().encode(BODY);
  const capitals = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  const cases: [string, RawRequest | Request][] = [
    ["a request of the Fetch API", new Request("http://localhost/", { method: "POST", headers, body: BODY })],
    ["headers and a string", { headers, body: BODY }],
    ["headers and a Buffer", { headers, body: Buffer.from(BODY) }],
    ["headers and bytes", { headers, body: bytes }],
    ["headers and an ArrayBuffer", { headers, body: bytes.buffer }],
    ["a part of a larger buffer", { headers, body: Buffer.from(`..${BODY}..`).subarray(2, -2) }],
    ["Headers and a string", { headers: new Headers(headers), body: BODY }],
    ["header names in capitals", { headers: capitals, body: BODY }],
  ];

  test.for(cases)("%s", async ([, request]) => {
    setNow(NOW);
    const { id, payload } = await verifyCallback<{ to: string }>(request, SECRET);
    expect([id, payload.to]).toEqual(["job_1", "ada@example.com"]);
  });

  test.for([
    ["a parsed body", { headers, body: JSON.parse(BODY) as string }],
    ["a body that no parser took", { headers: { ...headers, "content-length": "34" }, body: undefined }],
    ["a body in chunks that no parser took", { headers: { ...headers, "transfer-encoding": "chunked" }, body: undefined }],
  ] as const)("%s cannot be verified", async ([, request]) => {
    setNow(NOW);
    const error = await failureOf(verifyCallback(request, SECRET));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain("body must be the body as it arrived");
  });

  test("a request whose body was read cannot be verified", async () => {
    const request = new Request("http://localhost/", { method: "POST", headers, body: BODY });
    await request.text();
    expect((await failureOf(verifyCallback(request, SECRET))).message).toContain("body was read before");
  });

  test("an unsigned request is not genuine, whatever its body is", async () => {
    for (const body of [undefined, {}, { to: "ada@example.com" }]) {
      const error = await failureOf(verifyCallback({ headers: {}, body: body as unknown as string }, SECRET));
      expect(error).toMatchObject({ name: "InvalidSignatureError", reason: "missing_header" });
    }
  });

  test("a request without a body is not genuine, whatever its headers are", async () => {
    setNow(NOW);
    for (const framing of [{}, { "content-length": "0" }]) {
      const error = await failureOf(verifyCallback({ headers: { ...headers, ...framing }, body: undefined }, SECRET));
      expect(error).toMatchObject({ name: "InvalidSignatureError", reason: "wrong_signature" });
    }
  });

  test("a header that is there twice is refused", async () => {
    setNow(NOW);
    const twice = { ...headers, "x-service-job-id": ["job_1", "job_2"] };
    expect(await failureOf(verifyCallback({ headers: twice, body: BODY }, SECRET))).toMatchObject({ reason: "missing_header" });
  });
});

describe("a schema for the payload", () => {
  const schema = z.object({ to: z.email().transform((text) => ({ address: text })) });

  test("it parses the payload of a genuine callback", async () => {
    setNow(NOW);
    const { payload } = await verifyCallback({ headers: headersFor(BODY), body: BODY }, SECRET, { schema });
    expect(payload.to.address).toBe("ada@example.com");
  });

  test("a payload that does not fit is refused, after the signature", async () => {
    setNow(NOW);
    const body = '{"id":"job_1","payload":{"to":"ada"}}';
    expect(await failureOf(verifyCallback({ headers: headersFor(body), body }, SECRET, { schema }))).toMatchObject({
      code: "VALIDATION_ERROR",
      details: { issues: [{ path: "payload.to" }] },
    });
    expect(await failureOf(verifyCallback({ headers: headersFor(body), body }, "cbs_other", { schema }))).toMatchObject({
      reason: "wrong_signature",
    });
  });
});

describe("the error", () => {
  test.for([
    [
      "a missing header",
      {},
      SECRET,
      "missing_header",
      "A callback has the headers X-Service-Job-Id, X-Service-Timestamp and X-Service-Signature.",
    ],
    [
      "another secret",
      headersFor(BODY),
      `${SECRET}x`,
      "wrong_signature",
      "X-Service-Signature was not made with this secret and this body.",
    ],
  ] as const)("%s", async ([, headers, secret, reason, message]) => {
    setNow(NOW);
    const error = await failureOf(verifyCallback({ headers, body: BODY }, secret));
    expect(error).toBeInstanceOf(InvalidSignatureError);
    expect(error).toMatchObject({ name: "InvalidSignatureError", reason, message });
  });

  test("an old timestamp", async () => {
    setNow(NOW + 301);
    expect(await failureOf(verifyCallback({ headers: headersFor(BODY), body: BODY }, SECRET))).toMatchObject({
      reason: "timestamp_out_of_range",
    });
  });

  test.for([
    ["an empty secret", ""],
    ["no secrets", []],
    ["an empty secret among others", [SECRET, ""]],
    ["undefined", undefined],
  ] as const)("%s is no secret to verify with", async ([, secrets]) => {
    setNow(NOW);
    const forged = headersFor(BODY, "");
    const error = await failureOf(verifyCallback({ headers: forged, body: BODY }, secrets as string));
    expect(error).toBeInstanceOf(TypeError);
  });
});
