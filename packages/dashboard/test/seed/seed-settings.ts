import { Handler } from "../../../server/test/harness/handler.ts";
import { type Service, until } from "../../../server/test/harness/service.ts";

/** Schedules, secrets and keys. */
export async function seedSettings(service: Service): Promise<void> {
  const schedule = (name: string, queue: string, cron: string, more: object = {}) =>
    service.ok("POST", "/v1/schedules", { name, queue, cron, timezone: "Europe/Berlin", payload: { name }, ...more });
  await schedule("daily-digest", "emails", "0 7 * * 1-5", { payload: { template: "digest" } });
  await schedule("nightly-sales", "nightly-reports", "30 2 * * *");
  await schedule("quarter-hour-sync", "crm-sync", "*/15 * * * *", { overlap: "skip", timezone: "UTC" });
  await schedule("month-end", "invoices", "0 18 28 * *");
  await service.ok("PATCH", "/v1/schedules/month-end/pause");
  await service.ok("POST", "/v1/secrets", { name: "CRM_TOKEN", value: "tok_live_4f9a77c1d2" });
  await service.ok("POST", "/v1/secrets", { name: "MAIL_API_KEY", value: "mk-0f6cf4a1b09e" });
  await service.ok("POST", "/v1/keys", { name: "web shop", role: "write" });
  await service.ok("POST", "/v1/keys", { name: "resizer fleet", role: "worker", queues: ["image-resize"] });
  await service.ok("POST", "/v1/keys", { name: "grafana", role: "read" });
}

/** A webhook that gets events. Returns the id of a delivery. */
export async function seedWebhook(service: Service, name: string): Promise<string> {
  const receiver = await Handler.listen(200);
  try {
    await service.ok("POST", "/v1/webhooks", { name, url: receiver.url, events: ["job.failed", "circuit.opened", "approval.requested"] });
    const { id } = await service.ok("POST", `/v1/webhooks/${name}/test`);
    await until(async () => (await service.ok("GET", `/v1/webhooks/${name}/deliveries/${id}`)).attempts > 0, "an attempt");
    return id;
  } finally {
    await receiver.close();
  }
}
