import { AuditLog } from "../../packages/server/src/audit/index.ts";
import { createApi } from "../../packages/server/src/http/index.ts";
import { mountJobs } from "../../packages/server/src/jobs/index.ts";
import { Database, DatabaseClock, LoopTime, systemRandom, Tenants, toMoment, UuidSource } from "../../packages/server/src/kernel/index.ts";
import { PrincipalFinder } from "../../packages/server/src/workspaces/find-principal.ts";

/** The same server, routes, authentication and validation included, that answers an enqueue without storing the job. */
const connection = JSON.parse(process.env.BENCH_CONNECTION ?? "") as { host: string; port: number; user: string; database: string };
const clock = new DatabaseClock();
const ids = new UuidSource(clock, systemRandom);
const database = new Database({ connection, size: 2, statementTimeoutMs: 10_000 });
const principals = new PrincipalFinder(database, clock, { record: () => {} }, process.env.TIDEMILL_BOOTSTRAP_KEY ?? null);
const authenticator = { findPrincipal: (key: string) => principals.find(key), operatorToken: null };
const api = createApi({ authenticator, emit: () => {}, random: systemRandom });

mountJobs(api, {
  tenants: new Tenants({ connection, size: 1, statementTimeoutMs: 10_000 }),
  audit: new AuditLog(ids),
  clock,
  shares: { loopTime: new LoopTime() },
  waker: { wake: () => {}, wakeAt: () => {} },
  aborter: { abortJob: () => {}, abortRun: () => {}, abortLane: () => {}, abortWorkspace: () => {} },
  enqueuer: {
    enqueue: async (_workspaceId, _queue, jobs) => {
      const now = toMoment(clock.nowMs());
      return jobs.map((job) => ({
        id: ids.next() as never,
        state: "waiting" as const,
        priority: job.priority,
        attempt: 0,
        spared: 0,
        attempts: 3,
        run_at: now,
        created_at: now,
        started_at: null,
        finished_at: null,
        tag: job.tag,
        concurrency_key: job.concurrencyKey,
        payload: job.payload,
        result: null,
        last_error: null,
        schedule: null,
        scheduled_for: null,
        idempotency_key: null,
        approval: null,
      }));
    },
  },
});
await api.listen({ port: 0, host: "127.0.0.1" });
process.send?.({ port: (api.server.address() as { port: number }).port });
process.on("disconnect", () => process.exit(0));
