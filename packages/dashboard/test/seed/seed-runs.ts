import type { Service } from "../../../server/test/harness/service.ts";

type Step = Record<string, unknown>;

/** Workflows with runs that completed, sleep, wait for a signal, failed and were undone. */
export async function seedRuns(
  service: Service,
): Promise<{ workflow: string; finishedRun: string; waitingRun: string; failedRun: string }> {
  const put = (id: string, settings: object = {}) => service.ok("PUT", `/v1/workflows/${id}`, { version: "2026-11-20", ...settings });
  await put("order.fulfil", { events: ["order.paid"], hooks: ["onFailure"] });
  await put("user.onboard", { events: ["user.created"], attempts: 5 });
  await put("billing.start");
  await put("stock.count", { cron: "0 5 * * *", timezone: "Europe/Berlin" });
  const work = (body: object) => service.ok("POST", "/v1/work", { worker: "flows-1", version: "2026-11-20", queues: [], ...body });
  const trigger = async (id: string, input: unknown): Promise<string> =>
    (await service.ok("POST", `/v1/workflows/${id}/trigger`, { input })).runIds[0];
  const take = async (id: string) => (await work({ workflows: [id], wait: 10 })).runs[0] as { runId: string; lease_token: string };
  const at = (ms: number) => new Date(service.clock.nowMs() + ms).toISOString();
  /** Executes steps, each for as many milliseconds as it says. */
  const report = async ({ runId, lease_token }: { runId: string; lease_token: string }, steps: readonly (Step & { ms: number })[]) => {
    for (const { ms, ...step } of steps) {
      const startedAt = at(0);
      await service.clock.advance(ms / 1000);
      const sent = { type: "run", status: "completed", startedAt, ...step };
      await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [sent] });
    }
  };
  const end = ({ runId, lease_token }: { runId: string; lease_token: string }, outcome: object) =>
    work({ settle: [{ id: runId, lease_token, ...outcome }] });

  const finished = await trigger("order.fulfil", { order: 12345678901234567890n.toString(), items: 3 });
  let run = await take("order.fulfil");
  await report(run, [
    { key: "load order", ms: 84, output: { order: "SO-99017", total: "129.90" } },
    { key: "reserve stock", ms: 310, output: { reserved: 3 }, undoable: true },
    { key: "charge card", ms: 1_240, output: { charge: "ch_81" }, attempt: 2, undoable: true },
  ]);
  await end(run, { outcome: "suspended", steps: [{ key: "wait for the pick-up", type: "sleep", status: "waiting", sleepFor: 600_000 }] });
  await service.advance(600);
  run = await take("order.fulfil");
  await report(run, [
    { key: "print label", ms: 420, output: { label: "https://labels.example.com/81.pdf" } },
    { key: "tell customer", ms: 150, output: { mail: "sent" } },
  ]);
  await end(run, { outcome: "completed", result: { shipped: true, parcels: 1 } });

  const failed = await trigger("user.onboard", { userId: "u_4711" });
  run = await take("user.onboard");
  await report(run, [
    { key: "load user", ms: 62, output: { name: "A customer" } },
    {
      key: "create mailbox",
      ms: 930,
      status: "failed",
      error: { name: "QuotaError", message: "The mail provider allows no more mailboxes." },
      attempt: 3,
    },
  ]);
  await end(run, { outcome: "failed", error: "QuotaError: The mail provider allows no more mailboxes.", retry: false });

  const waiting = await trigger("order.fulfil", { order: "SO-99204", items: 1 });
  run = await take("order.fulfil");
  await report(run, [
    { key: "load order", ms: 71, output: { order: "SO-99204" } },
    { key: "reserve stock", ms: 250, output: { reserved: 1 }, undoable: true },
  ]);
  await end(run, {
    outcome: "suspended",
    steps: [{ key: "release by the warehouse", type: "wait", status: "waiting", signal: "warehouse.SO-99204", timeout: 86_400_000 }],
  });
  for (const user of ["u_4712", "u_4713", "u_4714"]) await trigger("user.onboard", { userId: user });
  run = await take("user.onboard");
  await report(run, [{ key: "load user", ms: 58, output: { name: "Another customer" } }]);
  for (const sku of [1, 2]) {
    await trigger("stock.count", { warehouse: sku });
    run = await take("stock.count");
    await report(run, [{ key: "count", ms: 2_300, output: { items: 9_120 } }]);
    await end(run, { outcome: "completed", result: { items: 9_120 } });
    await service.advance(200);
  }
  return { workflow: "order.fulfil", finishedRun: finished, waitingRun: waiting, failedRun: failed };
}
