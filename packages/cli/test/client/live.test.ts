import type { LiveEvent } from "@tidemill/sdk";
import { expect } from "vitest";
import { Handler } from "../../../server/test/harness/handler.ts";
import { until } from "../../../server/test/harness/service.ts";
import { test as stageTest } from "../../../server/test/harness/stage.ts";
import { LiveJobs } from "../../src/client/live-jobs.ts";
import { Sights } from "../../src/client/tail.ts";
import { test } from "./client.ts";

test("job watch prints each change of a job, and ends with code 0 when it completes", async ({ command, service }) => {
  const handler = await service.handler();
  const { id } = await service.ok("POST", `/v1/queues/${handler.queue}/jobs`, { payload: 1 });
  const { code, stdout } = await command.run("job", "watch", id);
  expect({ code, last: stdout.trimEnd().split("\n").at(-1) }).toEqual({
    code: 0,
    last: expect.stringMatching(/^completed {2}attempt 1 of 3/),
  });
});

test("job watch ends with code 8 when the job does not complete", async ({ command, service }) => {
  const queue = await service.queue();
  const { id } = await service.ok("POST", `/v1/queues/${queue}/jobs`, { payload: 1 });
  await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
  expect(await command.run("job", "watch", queue, id)).toMatchObject({ code: 8, stdout: "cancelled\n" });
});

test("a replayed job arrives at another address, signed with the secret of its queue", async ({ command, service }) => {
  const real = await service.handler();
  const { id } = await service.ok("POST", `/v1/queues/${real.queue}/jobs`, { payload: { n: 12 } });
  const laptop = await Handler.listen(200);
  try {
    expect(await command.json("replay", real.queue, id, "--to", laptop.url)).toMatchObject({ job: id, status: 200 });
    expect(laptop.payloads).toEqual([{ n: 12 }]);
    expect(laptop.received[0]?.headers["x-service-signature"]).toMatch(/^v1,/);
  } finally {
    await laptop.close();
  }
  expect(await command.json("audit", "list", "--event-type", "job.replayed")).toMatchObject([{ resource_id: id }]);
});

test("a replay whose handler refuses it ends with code 8, and one that does not arrive with code 7", async ({ command, service }) => {
  const real = await service.handler();
  const { id } = await service.ok("POST", `/v1/queues/${real.queue}/jobs`, { payload: 1 });
  const laptop = await Handler.listen(500);
  const { url } = laptop;
  expect(await command.run("replay", real.queue, id, "--to", url)).toMatchObject({ code: 8 });
  await laptop.close();
  expect(await command.run("replay", real.queue, id, "--to", url)).toMatchObject({ code: 7 });
});

test("tail tells new and changed jobs from known ones, and when it may have missed some", () => {
  const job = (id: number, state: string) => ({ id: `job_${id}`, state, attempt: 0 }) as never;
  const sights = new Sights();
  sights.update([job(1, "waiting")]);
  expect(sights.update([job(2, "waiting"), job(1, "completed")])).toEqual({
    changed: [job(1, "completed"), job(2, "waiting")],
    missed: false,
  });
  expect(sights.update([job(2, "waiting"), job(1, "completed")]).changed).toEqual([]);
  const unknown = Array.from({ length: 100 }, (_, n) => job(200 - n, "waiting"));
  expect(sights.update(unknown)).toMatchObject({ missed: true });
});

test("tail looks again when jobs have changed, and always when it cannot follow them", async () => {
  let say = (_event: LiveEvent) => {};
  let fail = () => {};
  const live = async function* (): AsyncGenerator<LiveEvent, void> {
    for (;;)
      yield await new Promise<LiveEvent>((resolve, reject) => {
        say = resolve;
        fail = () => reject(new Error("403"));
      });
  };
  const jobs = new LiveJobs({ live });
  await jobs.changed(0);
  let looks = 0;
  const look = async () => {
    for (;;) {
      await jobs.changed(0);
      looks += 1;
      if (looks >= 3) return;
    }
  };
  say({ type: "connected" });
  await jobs.changed(0);
  const looked = look();
  say({ type: "changed", kinds: ["keys"] });
  await new Promise((resolve) => setImmediate(resolve));
  say({ type: "changed", kinds: ["jobs"] });
  await until(() => looks === 1, "a look");
  fail();
  await looked;
});

stageTest("dev prints callbacks of a node, and whether their signatures are right", async ({ stage }) => {
  const database = await stage.database();
  const node = await stage.node({ DATABASE_URL: database.url });
  const { body: queue } = await node.client.api("POST", "/v1/queues", { name: "emails", callback_url: "http://127.0.0.1:9/" });
  const dev = stage.program(["dev", "--json", "--port", "0", "--secret", (queue as { callback_secret: string }).callback_secret]);
  const lines = () =>
    dev.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  await until(() => dev.stdout.endsWith("\n"), "the receiver to listen");
  const [{ listening }] = lines();
  await node.client.ok("PATCH", "/v1/queues/emails", { callback_url: listening });
  await node.client.ok("POST", "/v1/queues/emails/jobs", { payload: { n: 12 } });
  await until(() => lines().length > 1, "a callback");
  expect(lines()[1]).toMatchObject({ signature: "valid", body: { queue: "emails", payload: { n: 12 } } });
  expect((await fetch(listening, { method: "POST", body: "{}" })).status).toBe(401);
});

stageTest("completion scripts are there for three shells, and complete commands", async ({ stage }) => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = await stage.run(["completion", shell]);
    expect(stdout).toContain(" complete -- ");
  }
  expect((await stage.run(["complete", "--", "queue", "re"])).stdout).toMatch(/^resume\t/m);
});

test("dev refuses a secret that was pasted in part: it would make every signature invalid", async ({ command }) => {
  expect(await command.run("dev", "--secret", "cbs_pJ0yqXcS3nUzvR1b")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("43 letters"),
  });
});

test("dev says how to choose another port when its own is taken", async ({ command }) => {
  const taken = await Handler.listen(200);
  const { port } = new URL(taken.url);
  const { code, stderr } = await command.run("dev", "--port", port);
  await taken.close();
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("--port and --host choose another address.") });
});
