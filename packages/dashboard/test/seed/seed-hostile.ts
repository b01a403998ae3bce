import { uuidOf } from "../../../server/src/kernel/index.ts";
import { Handler } from "../../../server/test/harness/handler.ts";
import { type Service, until } from "../../../server/test/harness/service.ts";
import type { PageNames } from "../harness/every-page.ts";

/** Texts that would run, or ask for something, in a page that puts them into its document as they are. */
export const HOSTILE = [
  `<script>globalThis.ran = 1</script>`,
  `<img src="http://evil.example/a.png" onerror="globalThis.ran = 2">`,
  `"><svg onload="globalThis.ran = 3"><a href="javascript:globalThis.ran = 4">x</a>`,
  `javascript:globalThis.ran = 5//`,
  `{{constructor.constructor('globalThis.ran = 6')()}}`,
  `'-globalThis.ran--'</textarea></title></style><iframe srcdoc="<script>top.ran = 7</script>">`,
  `\u202E<b>txt.exe</b>`,
] as const;

const text = HOSTILE.join(" ");
const some = (at: number): string => HOSTILE[at % HOSTILE.length] as string;
/** As long as tags and names may be. */
const short = (at: number): string => some(at).slice(0, 120);

/** A workspace in which everything that a tenant, a handler or a worker may choose is hostile. */
export async function seedHostile(service: Service): Promise<PageNames> {
  const handler = await Handler.listen({ status: 500, body: text, headers: { "content-type": "text/html" } });
  const post = (path: string, body?: unknown) => service.ok("POST", path, body);
  try {
    await service.database.query("update workspace set name = $1 where id = $2", [short(0), uuidOf("ws", service.workspaceId)]);
    await post("/v1/queues", {
      name: "hostile",
      callback_url: `${handler.url}?${encodeURIComponent(some(1))}`,
      callback_headers: { "x-hostile": "<b>x</b>" },
    });
    await post("/v1/queues", { name: "pulled" });
    await post("/v1/queues", { name: "asked", type: "approval" });
    const job = (at: number) => ({
      payload: { [some(at)]: text, n: 1, list: [...HOSTILE] },
      tag: short(at),
      concurrencyKey: short(at + 1),
      attempts: 1,
    });
    const jobs = HOSTILE.map((_, at) => job(at));
    const { jobs: called } = await post("/v1/queues/hostile/jobs/batch", { jobs });
    await post("/v1/queues/asked/jobs/batch", { jobs });
    await post("/v1/queues/pulled/jobs/batch", { jobs });
    const { jobs: taken } = await post("/v1/work", { worker: "w-<b>1</b>", version: short(1).slice(0, 64), queues: ["pulled"], limit: 4 });
    const settle = taken.map(({ id, lease_token }: { id: string; lease_token: string }, at: number) =>
      at % 2 === 0
        ? { id, lease_token, outcome: "failed", error: some(at) }
        : { id, lease_token, outcome: "completed", result: { [some(at)]: text } },
    );
    await post("/v1/work", { worker: "w-<b>1</b>", queues: [], settle });
    await post("/v1/schedules", {
      name: "hostile",
      queue: "pulled",
      cron: "0 7 * * *",
      timezone: "Europe/Berlin",
      payload: { text },
      tag: short(2),
    });
    await post("/v1/secrets", { name: "HOSTILE", value: `<b>&"'${text}` });
    await post("/v1/keys", { name: short(3).slice(0, 64), role: "read" });
    await post("/v1/webhooks", {
      name: "hostile",
      url: `${handler.url}?${encodeURIComponent(some(2))}`,
      events: ["job.failed", "run.failed"],
      headers: { "x-hostile": "<b>${{ secrets.HOSTILE }}</b>" },
    });
    const { id: delivery } = await post("/v1/webhooks/hostile/test");
    await until(async () => (await service.ok("GET", `/v1/webhooks/hostile/deliveries/${delivery}`)).attempts > 0, "an attempt");
    const run = await seedHostileRun(service);
    await until(async () => (await service.ok("GET", "/v1/dlq?queue=hostile")).data.length > 0, "jobs to fail");
    return {
      queue: "hostile",
      job: called[0].id,
      schedule: "hostile",
      workflow: "hostile",
      run,
      token: "x".repeat(43),
      webhook: "hostile",
      delivery,
      secret: "HOSTILE",
      name: "hostile",
    };
  } finally {
    await handler.close();
  }
}

async function seedHostileRun(service: Service): Promise<string> {
  await service.ok("PUT", "/v1/workflows/hostile", { version: short(4).slice(0, 64), hooks: ["onFailure"] });
  const { runIds } = await service.ok("POST", "/v1/workflows/hostile/trigger", { input: { [some(0)]: text }, idempotencyKey: short(5) });
  const worker = { worker: "w-<i>2</i>", version: short(4).slice(0, 64), queues: [] };
  const { runs } = await service.ok("POST", "/v1/work", { ...worker, workflows: ["hostile"], wait: 10 });
  const { runId, lease_token } = runs[0];
  const steps = HOSTILE.map((key, at) => ({
    key,
    type: "run",
    ...(at % 2 === 0
      ? { status: "completed", output: { [some(at)]: text } }
      : { status: "failed", error: { name: short(at), message: text } }),
  }));
  await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps, progress: { text } });
  const wait = { key: "ask", type: "wait", status: "waiting", signal: "hostile.signal", timeout: 60_000 };
  await service.ok("POST", "/v1/work", { ...worker, settle: [{ id: runId, lease_token, outcome: "suspended", steps: [wait] }] });
  return runIds[0];
}
