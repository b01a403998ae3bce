import { Handler } from "../../../server/test/harness/handler.ts";
import { type Service, until } from "../../../server/test/harness/service.ts";

/** With the runs, all of it is in the last hour, which charts show. */
const MINUTES = 36;

/** Queues with callbacks and workers, dead letters of several causes, an open circuit, jobs for later and approvals. */
export async function seedJobs(service: Service): Promise<{ queue: string; job: string }> {
  const healthy = await Handler.listen({ status: 200, body: '{"ok":true,"id":12345678901234567890}' });
  const broken = await Handler.listen({ status: 503, body: '{"error":"the CRM is being maintained"}' });
  const queue = (name: string, settings: object = {}) => service.ok("POST", "/v1/queues", { name, ...settings });
  const attempts = (attempts: number) => ({ defaultJobOptions: { attempts, backoff: { type: "exponential", delay: 1000 } } });
  await queue("emails", { callback_url: healthy.url, concurrency: 50 });
  await queue("invoices", { callback_url: healthy.url, ...attempts(5) });
  await queue("crm-sync", { callback_url: broken.url, ...attempts(1) });
  await queue("image-resize", { concurrency: 8, rate_limit: { max: 100, per_seconds: 60 } });
  await queue("nightly-reports", { paused: true });
  await queue("refunds", { type: "approval", callback_url: healthy.url, approval: { timeout: 14_400, on_timeout: "reject" } });
  const enqueue = (name: string, count: number, payload: (at: number) => unknown, more: object = {}) =>
    service.ok("POST", `/v1/queues/${name}/jobs/batch`, {
      jobs: Array.from({ length: count }, (_, at) => ({ payload: payload(at), ...more })),
    });
  try {
    for (let minute = 0; minute < MINUTES; minute += 3) {
      await enqueue("emails", 4 + ((minute * 7) % 9), (at) => ({ to: `customer-${minute + at}@example.com`, template: "order.shipped" }), {
        tag: "orders",
      });
      await enqueue("invoices", 1 + (minute % 4), (at) => ({
        invoice: `INV-2026-${1000 + minute * 10 + at}`,
        total: "129.90",
        currency: "EUR",
      }));
      if (minute % 9 === 0) await enqueue("crm-sync", 3, (at) => ({ contact: 70_000 + minute * 10 + at }), { tag: "contacts" });
      await service.untilIdle();
      await service.advance(180);
    }
    // Failures in a row open the circuit of the broken endpoint; what comes then waits.
    await enqueue("crm-sync", 12, (at) => ({ contact: 80_000 + at }), { tag: "contacts" });
    await until(async () => (await service.ok("GET", "/v1/dlq?queue=crm-sync&limit=1")).data.length > 0, "the first dead letters");
    await failByWorkers(service);
    await enqueue("image-resize", 34, (at) => ({ image: `products/${4711 + at}.jpg`, sizes: [320, 640, 1280] }), {
      concurrencyKey: "shop-7",
    });
    await enqueue("nightly-reports", 6, (at) => ({ report: ["sales", "stock", "returns", "ads", "seo", "costs"][at] }));
    await enqueue("emails", 5, (at) => ({ to: `reminder-${at}@example.com`, template: "cart.left" }), { delay: 7_200, tag: "reminders" });
    await enqueue(
      "refunds",
      4,
      (at) => ({ order: `SO-99${at}17`, amount: `${(at + 1) * 45}.00`, currency: "EUR", reason: "damaged on arrival" }),
      { tag: "refunds" },
    );
  } finally {
    await healthy.close();
    await broken.close();
  }
  const { data } = await service.ok("GET", "/v1/dlq?queue=image-resize&limit=1");
  return { queue: "crm-sync", job: data[0].id as string };
}

/** A worker that cannot read some pictures. */
async function failByWorkers(service: Service): Promise<void> {
  const jobs = Array.from({ length: 9 }, (_, at) => ({
    payload: { image: `uploads/${at}.heic`, sizes: [320] },
    attempts: 1,
    tag: "uploads",
  }));
  await service.ok("POST", "/v1/queues/image-resize/jobs/batch", { jobs });
  const { jobs: taken } = await service.ok("POST", "/v1/work", {
    worker: "resizer-2",
    version: "3.2.0",
    queues: ["image-resize"],
    limit: 20,
  });
  const settle = taken.map(({ id, lease_token }: { id: string; lease_token: string }, at: number) => ({
    id,
    lease_token,
    outcome: "failed",
    error: `Input file uploads/${at}.heic contains unsupported image format`,
  }));
  await service.ok("POST", "/v1/work", { worker: "resizer-2", version: "3.2.0", queues: [], settle });
}
