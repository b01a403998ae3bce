import { afterEach, describe, expect, vi } from "vitest";
import { POST } from "../../../../examples/workflows/next-route.ts";
import { register } from "../../../../examples/workflows/onboard.ts";
import { until } from "../../../server/test/harness/service.ts";
import { hostRoute } from "../harness/host-route.ts";
import { type Live, test } from "../harness/live.ts";
import { Receiver } from "../harness/receiver.ts";

const SECRET = `cbs_${"s".repeat(43)}`;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  vi.unstubAllEnvs();
});

const environment = ({ url, key }: Live) => ({ TIDEMILL_URL: url, TIDEMILL_KEY: key, TIDEMILL_ENDPOINT_SECRET: SECRET });

/** Starts a run of the example, and waits until it has completed. */
async function onboard({ tidemill }: Live): Promise<void> {
  const [runId = ""] = (await tidemill.workflows.trigger("user.onboard", { input: { name: "Ünïcödé 🌊" } })).runIds;
  await until(async () => (await tidemill.runs.get(runId)).status === "completed", "the run to complete");
  expect(await tidemill.runs.get(runId)).toMatchObject({
    result: "Welcome, Ünïcödé 🌊.",
    attempt: 1,
    steps: [{ key: "greet" }, { key: "a moment" }, { key: "ask" }],
  });
}

/** What a program responds to a request that the service did not sign. */
const forge = async (url: string): Promise<number> =>
  (
    await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-service-job-id": "run_01kajv3k4ve6nsd9z5kgtzx0rw",
        "x-service-timestamp": String(Math.floor(Date.now() / 1000)),
        "x-service-signature": `v1,${Buffer.alloc(32).toString("base64")}`,
      },
      body: '{"kind":"run","workflowId":"user.onboard","input":{"name":"Eve"}}',
    })
  ).status;

describe("workflows are executed by the example for", () => {
  test.for(["node", "express", "fastify", "hono"])("%s", async (name, { live }) => {
    const program = await Receiver.startIn("workflows", [process.execPath, "--conditions=source", `${name}.ts`], environment(live));
    ends.push(() => program.stop());
    await onboard(live);
    expect(program.output.split("\n").filter((line) => /Welcome|How do/.test(line))).toEqual([
      "Welcome, Ünïcödé 🌊.",
      "How do you like it, Ünïcödé 🌊?",
    ]);
    expect(await forge(program.url.replace("/callback", "/tidemill"))).toBe(401);
    expect(program.output).not.toContain("Eve");
  });

  test("Next", async ({ live }) => {
    const log = vi.spyOn(console, "log").mockReturnValue();
    ends.push(async () => log.mockRestore());
    const { url, close } = await hostRoute(POST);
    ends.push(close);
    for (const [name, value] of Object.entries({ ...environment(live), ENDPOINT_URL: url })) vi.stubEnv(name, value);
    await register(0);
    await onboard(live);
    expect(await forge(url)).toBe(401);
  });
});
