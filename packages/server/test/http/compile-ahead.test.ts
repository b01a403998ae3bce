import { expect, test } from "vitest";
import { createApi, listen } from "#http";
import { systemRandom } from "#kernel";

test("the schemas of a listener's routes are compiled before a request needs them", async ({ onTestFinished }) => {
  const api = createApi({ authenticator: { findPrincipal: async () => null, operatorToken: null }, emit: () => {}, random: systemRandom });
  let reads = 0;
  const ownKeys = (target: object) => {
    reads += 1;
    return Reflect.ownKeys(target);
  };
  const properties = new Proxy({}, { ownKeys });
  api.post("/bodies", { schema: { body: { type: "object", properties } } }, () => ({}));
  await api.ready();
  const atStart = reads;
  await listen(api, "127.0.0.1", 0);
  onTestFinished(() => api.close());
  await expect.poll(() => reads).toBeGreaterThan(atStart);
});
