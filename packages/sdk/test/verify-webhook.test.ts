import { createHmac, randomBytes } from "node:crypto";
import { InvalidSignatureError, verifyWebhook } from "@tidemill/sdk";
import { describe, expect, test } from "vitest";

const secretOf = () => `whsec_${randomBytes(32).toString("base64")}`;
const [SECRET, OTHER] = [secretOf(), secretOf()];
const EVENT = { id: "whk_01kajv3k4we6nsd9z5kgtzx0rw", type: "job.failed", timestamp: "2026-11-21T12:00:00.000Z", data: { id: "job_1" } };
const BODY = JSON.stringify(EVENT);

/** Signs as Standard Webhooks say. The server's tests compare its signatures with those of a library. */
const sign = (secret: string, seconds: string, body: string): string =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(`${EVENT.id}.${seconds}.${body}`)
    .digest("base64")}`;

/** A request as the service sends it. */
function signed(secrets: readonly string[], { at = new Date(), body = BODY } = {}) {
  const seconds = String(Math.floor(at.getTime() / 1000));
  const headers = {
    "webhook-id": EVENT.id,
    "webhook-timestamp": seconds,
    "webhook-signature": secrets.map((secret) => sign(secret, seconds, body)).join(" "),
  };
  return { headers, body };
}

const reasonOf = async (verified: Promise<unknown>): Promise<string> => {
  const error = await verified.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return error instanceof InvalidSignatureError ? error.reason : String(error);
};

describe("verifyWebhook", () => {
  test("returns the event, of a request of the Fetch API as well", async () => {
    const { headers, body } = signed([SECRET]);
    expect(await verifyWebhook({ headers, body }, SECRET)).toEqual(EVENT);
    expect(await verifyWebhook(new Request("http://a/", { method: "POST", headers, body }), SECRET)).toEqual(EVENT);
  });

  test("takes the old and the new secret while it is rotated, on both sides", async () => {
    const both = signed([OTHER, SECRET]);
    for (const secrets of [SECRET, OTHER, [OTHER, SECRET]]) expect(await verifyWebhook(both, secrets)).toEqual(EVENT);
    expect(await verifyWebhook(signed([SECRET]), [OTHER, SECRET])).toEqual(EVENT);
  });

  test("refuses what is not genuine, and says why", async () => {
    expect(await reasonOf(verifyWebhook(signed([OTHER]), SECRET))).toBe("wrong_signature");
    expect(await reasonOf(verifyWebhook({ ...signed([SECRET]), body: `${BODY} ` }, SECRET))).toBe("wrong_signature");
    expect(await reasonOf(verifyWebhook(signed([SECRET], { at: new Date(Date.now() - 301_000) }), SECRET))).toBe("timestamp_out_of_range");
    expect(await reasonOf(verifyWebhook({ headers: {}, body: BODY }, SECRET))).toBe("missing_header");
    expect(await reasonOf(verifyWebhook({ headers: {}, body: undefined as unknown as string }, SECRET))).toBe("missing_header");
    const { headers } = signed([SECRET]);
    for (const signature of ["", "v1,", "v1a,xxx", headers["webhook-signature"].replace("v1,", "v2,")]) {
      const reason = await reasonOf(verifyWebhook({ headers: { ...headers, "webhook-signature": signature }, body: BODY }, SECRET));
      expect([signature, reason]).toEqual([signature, signature === "" ? "missing_header" : "wrong_signature"]);
    }
    const many = { ...headers, "webhook-signature": `${"v1,x ".repeat(10)}${headers["webhook-signature"]}` };
    expect(await reasonOf(verifyWebhook({ headers: many, body: BODY }, SECRET))).toBe("wrong_signature");
  });

  test("needs a secret of a webhook", async () => {
    for (const secrets of ["", "cbs_x", "whsec_", [], [SECRET, "x"]]) {
      await expect(verifyWebhook(signed([SECRET]), secrets)).rejects.toThrow(TypeError);
    }
  });
});
