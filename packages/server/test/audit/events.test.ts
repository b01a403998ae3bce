import { describe, expect } from "vitest";
import { typeId, type Uuid, uuidOf, type WorkspaceId } from "#kernel";
import { verified } from "../harness/audit.ts";
import { withoutAudit } from "../harness/audit-events.ts";
import { laneOf, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { joinedBy } from "../harness/nodes.ts";
import type { Service } from "../harness/service.ts";

/** The audit events of queues and dead letters, oldest first. */
async function told(service: Service): Promise<Record<string, unknown>[]> {
  const { data } = await service.ok("GET", "/v1/audit-events?resource_type=queue,job,dlq&limit=100");
  return data.reverse();
}

/** The id of the service's own key. */
async function actorOf(service: Service): Promise<string> {
  const [key] = await service.database.query<{ id: Uuid }>("select id from api_key where hash = sha256($1::text::bytea)", [service.key]);
  return typeId("key", key?.id as Uuid);
}

const settings = {
  callback_url: "https://example.com/hook",
  callback_headers: { authorization: "Bearer unguessable-token", "x-team": "unguessable-team" },
  callback_timeout: 7,
};

describe("queues", () => {
  test("the creation, change and deletion of a queue are audited with who did it, and without secrets", async ({ service }) => {
    const { callback_secret: first } = await service.ok("POST", "/v1/queues", { name: "emails", ...settings });
    await service.ok("PATCH", "/v1/queues/emails", { paused: true, callback_timeout: 7, defaultJobOptions: { attempts: 9 } });
    const { callback_secret: second } = await service.ok("PATCH", "/v1/queues/emails", {
      callback_headers: { "x-other": "unguessable-other" },
      rotate_callback_secret: true,
    });
    await service.ok("DELETE", "/v1/queues/emails");
    await service.ok("POST", "/v1/queues", { name: "plain" });
    await service.ok("PATCH", "/v1/queues/plain", { callback_url: "https://example.com/hook?token=unguessable" });
    const events = await told(service);
    const same = {
      id: expect.any(String),
      occurred_at: expect.any(String),
      actor_id: await actorOf(service),
      resource_type: "queue",
      seq: expect.any(Number),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      previous: expect.stringMatching(/^[0-9a-f]{64}$/),
      canonical: expect.any(String),
    };
    expect(events).toEqual([
      {
        ...same,
        event_type: "queue.created",
        resource_id: "emails",
        input: { name: "emails", ...settings, callback_headers: ["authorization", "x-team"] },
        output: { secret_made: true },
      },
      {
        ...same,
        event_type: "queue.updated",
        resource_id: "emails",
        input: { paused: true, callback_timeout: 7, defaultJobOptions: { attempts: 9 } },
        output: { changed: ["defaultJobOptions", "paused"], secret_made: false, secret_rotated: false },
      },
      {
        ...same,
        event_type: "queue.updated",
        resource_id: "emails",
        input: { callback_headers: ["x-other"], rotate_callback_secret: true },
        output: { changed: ["callback_headers"], secret_made: false, secret_rotated: true },
      },
      { ...same, event_type: "queue.deleted", resource_id: "emails", input: null, output: null },
      { ...same, event_type: "queue.created", resource_id: "plain", input: { name: "plain" }, output: { secret_made: false } },
      {
        ...same,
        event_type: "queue.updated",
        resource_id: "plain",
        input: { callback_url: "https://example.com/hook?…" },
        output: { changed: ["callback_url", "has_callback_secret"], secret_made: true, secret_rotated: false },
      },
    ]);
    const stored = JSON.stringify(await service.database.query("select * from audit_event"));
    for (const secret of ["unguessable", first, second, service.key]) expect(stored).not.toContain(secret);
  });

  test("a refused change of a queue is not audited", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "emails" });
    const before = await told(service);
    expect((await service.api("POST", "/v1/queues", { name: "emails" })).status).toBe(409);
    expect((await service.api("PATCH", "/v1/queues/absent", { paused: true })).status).toBe(404);
    expect((await service.api("DELETE", "/v1/queues/absent")).status).toBe(404);
    expect(await told(service)).toEqual(before);
  });

  test("a change of a queue that cannot be audited does not happen", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "kept", callback_timeout: 9 });
    await withoutAudit(service, async () => {
      expect((await service.api("POST", "/v1/queues", { name: "emails" })).status).toBe(500);
      expect((await service.api("PATCH", "/v1/queues/kept", { callback_timeout: 10 })).status).toBe(500);
      expect((await service.api("DELETE", "/v1/queues/kept")).status).toBe(500);
    });
    expect((await service.api("GET", "/v1/queues/emails")).status).toBe(404);
    expect(await service.ok("GET", "/v1/queues/kept")).toMatchObject({ callback_timeout: 9 });
    expect(await told(service)).toHaveLength(1);
  });
});

describe("the dead-letter queue", () => {
  /** Creates two queues with two failed jobs each. Returns their names. */
  async function failed(service: Service): Promise<{ one: string; other: string; jobs: string[] }> {
    const [one, other] = [await service.queue(), await service.queue()];
    const jobs = [
      ...(await putJobs(service.database, await laneOf(service, one), { state: "failed", count: 2, tag: "t" })),
      ...(await putJobs(service.database, await laneOf(service, other), { state: "failed", count: 2 })),
    ];
    return { one, other, jobs: jobs.map((id) => typeId("job", id)) };
  }
  const toldOfJobs = async (service: Service) =>
    (await told(service))
      .filter(({ event_type }) => `${event_type}`.startsWith("dlq."))
      .map(({ event_type, resource_type, resource_id, input, output }) => [event_type, resource_type, resource_id, input, output]);

  test("the retry and purge of many dead letters are audited with their filter and how many they moved", async ({ service }) => {
    const { one, other } = await failed(service);
    await service.ok("POST", "/v1/dlq/retry", { queue: one, tag: "absent" });
    await service.ok("POST", `/v1/queues/${one}/retry-all`, { tag: "t" });
    await service.ok("POST", "/v1/dlq/purge", { queue: other, error: "HTTP_STATUS" });
    await service.ok("POST", "/v1/dlq/purge");
    await failed(service);
    await service.ok("POST", "/v1/dlq/retry", {});
    expect(await toldOfJobs(service)).toEqual([
      ["dlq.retried", "queue", one, { tag: "t" }, { retried: 2 }],
      ["dlq.purged", "dlq", service.workspaceId, { queue: other, error: "HTTP_STATUS" }, { purged: 2 }],
      ["dlq.retried", "dlq", service.workspaceId, {}, { retried: 4 }],
    ]);
  });

  test("the retry and removal of one failed job are audited, and of other jobs they are not", async ({ service }) => {
    const { one, other, jobs } = await failed(service);
    await service.ok("POST", `/v1/queues/${one}/jobs/${jobs[0]}/retry`);
    await service.ok("DELETE", `/v1/queues/${one}/jobs/${jobs[0]}`); // cancels it
    await service.ok("POST", `/v1/queues/${one}/jobs/${jobs[0]}/retry`); // brings it back
    await service.ok("DELETE", `/v1/queues/${one}/jobs/${jobs[0]}`); // cancels it
    await service.ok("DELETE", `/v1/queues/${one}/jobs/${jobs[0]}`); // removes it
    await service.ok("DELETE", `/v1/queues/${other}/jobs/${jobs[3]}`);
    expect(await toldOfJobs(service)).toEqual([
      ["dlq.retried", "job", jobs[0], { queue: one }, { retried: 1 }],
      ["dlq.purged", "job", jobs[3], { queue: other }, { purged: 1 }],
    ]);
  });

  test("more dead letters than one statement takes are audited by each statement that moved some, and add up", async ({
    service,
    database,
  }) => {
    const queue = await service.queue({ paused: true });
    await putJobs(database, await laneOf(service, queue), { state: "failed", count: 5_001 });
    expect(await service.ok("POST", "/v1/dlq/retry", { queue })).toEqual({ retried: 5_001 });
    expect((await toldOfJobs(service)).map(([, , , , output]) => output)).toEqual([{ retried: 5_000 }, { retried: 1 }]);
  });

  test("a retry or purge that cannot be audited does not happen", async ({ service }) => {
    const { one, jobs } = await failed(service);
    const before = await service.ok("GET", "/v1/dlq");
    await withoutAudit(service, async () => {
      for (const [method, path] of [
        ["POST", "/v1/dlq/retry"],
        ["POST", "/v1/dlq/purge"],
        ["POST", `/v1/queues/${one}/retry-all`],
        ["POST", `/v1/queues/${one}/jobs/${jobs[0]}/retry`],
        ["DELETE", `/v1/queues/${one}/jobs/${jobs[0]}`],
      ] as const)
        expect([path, (await service.api(method, path)).status]).toEqual([path, 500]);
    });
    expect(before.data).toHaveLength(4);
    expect(await service.ok("GET", "/v1/dlq")).toEqual(before);
    expect(await toldOfJobs(service)).toEqual([]);
  });
});

test("what is told through several nodes at once makes a chain that holds", async ({ service, engine }) => {
  const other = await joinedBy(service);
  try {
    const make = (at: number) => (at % 2 ? service : other).ok("POST", "/v1/queues", { name: `q${at}` });
    await Promise.all(Array.from({ length: 40 }, (_, at) => make(at)));
    const { events, head, broken } = await verified(engine, uuidOf("ws", service.workspaceId) as WorkspaceId);
    expect([events >= 40, head.seq === events, broken]).toEqual([true, true, null]);
    expect(new Set((await told(service)).map(({ resource_id }) => resource_id)).size).toBe(40);
  } finally {
    await other.node.stop();
  }
});
