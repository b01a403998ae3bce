import { createHash } from "node:crypto";
import { describe, expect } from "vitest";
import { uuidOf, type WorkspaceId } from "#kernel";
import { listAuditEvents } from "../../src/audit/list.ts";
import { record } from "../harness/audit.ts";
import { test } from "../harness/engine.ts";
import { makeKey } from "../harness/operator.ts";
import { newWorkspace, Service } from "../harness/service.ts";

const KEY = "key_01kajv2m9qf1h8s0w6r3n5d7xe";
const HOUR_SECONDS = 3_600;
const uuidOfWorkspace = (service: Service) => uuidOf("ws", service.workspaceId) as WorkspaceId;

/** The resource ids of a list's records, in order. */
const found = async (service: Service, query = ""): Promise<string[]> =>
  (await service.ok("GET", `/v1/audit-events?resource_type=job,dlq${query}`)).data.map(
    (event: { resource_id: string }) => event.resource_id,
  );

/** The fields of a canonical text, as a caller reads them: `5:abcde`, or `-` for null. */
function fieldsOf(canonical: string): (string | null)[] {
  const bytes = Buffer.from(canonical, "utf8");
  const fields: (string | null)[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] === 0x2d) {
      fields.push(null);
      at += 1;
      continue;
    }
    const colon = bytes.indexOf(":", at);
    const end = colon + 1 + Number(bytes.subarray(at, colon).toString());
    fields.push(bytes.subarray(colon + 1, end).toString("utf8"));
    at = end;
  }
  return fields;
}

describe("GET /v1/audit-events", () => {
  test("GET /v1/audit-events shows what happened, newest first, in pages that new events do not shift", async ({ service, engine }) => {
    for (const resourceId of ["1", "2", "3", "4", "5"]) await record(engine, uuidOfWorkspace(service), { resourceId });
    const { data, next_cursor } = await service.ok("GET", "/v1/audit-events?limit=2");
    expect(data[0]).toEqual({
      id: expect.stringMatching(/^aud_\w{26}$/),
      event_type: "dlq.purged",
      occurred_at: "2026-11-21T12:00:00.000Z",
      actor_id: "system",
      resource_type: "job",
      resource_id: "5",
      input: { asked: "ünïcode" },
      output: null,
      seq: expect.any(Number),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      previous: data[1].hash,
      canonical: expect.stringContaining('"ünïcode"'),
    });
    expect(data[1].resource_id).toBe("4");
    await record(engine, uuidOfWorkspace(service), { resourceId: "6" });
    expect(await found(service, `&limit=2&cursor=${next_cursor}`)).toEqual(["3", "2"]);
    expect(await found(service)).toEqual(["6", "5", "4", "3", "2", "1"]);
  });

  test("GET /v1/audit-events shows the chain: anybody can compute each hash from what is shown, and follow it to the start", async ({
    service,
    engine,
  }) => {
    for (const resourceId of ["1", "2"]) await record(engine, uuidOfWorkspace(service), { resourceId });
    await service.queue();
    const { data } = await service.ok("GET", "/v1/audit-events");
    let previous = "0".repeat(64);
    for (const [index, event] of data.reverse().entries()) {
      const fields = fieldsOf(event.canonical);
      expect([event.seq, event.previous]).toEqual([index + 1, previous]);
      expect(createHash("sha256").update(event.canonical, "utf8").digest("hex")).toBe(event.hash);
      expect(fields[0]).toBe(previous);
      expect(fields[2]).toBe(uuidOfWorkspace(service));
      expect([Number(fields[3]), fields[4], fields[5]]).toEqual([event.seq, uuidOf("aud", event.id), event.event_type]);
      expect(fields[6]?.replace(/\d{3}Z$/, "Z")).toBe(event.occurred_at);
      expect(fields.slice(7, 10)).toEqual([event.actor_id, event.resource_type, event.resource_id]);
      expect(fields.slice(10, 12).map((text) => text && JSON.parse(text))).toEqual([event.input, event.output]);
      previous = event.hash;
    }
    expect(data).toHaveLength(5);
  });

  test("GET /v1/audit-events filters by types, resources, actors and time: one of each that is given, all kinds together", async ({
    service,
    engine,
    clock,
  }) => {
    for (const [resourceId, eventType, actorId, resourceType] of [
      ["1", "dlq.retried", KEY, "job"],
      ["2", "dlq.purged", "system", "job"],
      ["3", "dlq.purged", KEY, "dlq"],
      ["4", "queue.deleted", "operator", "job"],
      ["5", "dlq.retried", "system", "dlq"],
    ] as const) {
      await record(engine, uuidOfWorkspace(service), { resourceId, eventType, actorId, resourceType });
      await clock.advance(1);
    }
    expect(await found(service, "&event_type=dlq.retried")).toEqual(["5", "1"]);
    expect(await found(service, "&event_type=dlq.retried,queue.deleted")).toEqual(["5", "4", "1"]);
    expect(await found(service, "&event_type=dlq.retried&event_type=queue.deleted,dlq.retried")).toEqual(["5", "4", "1"]);
    expect(await found(service, `&actor_id=${KEY}`)).toEqual(["3", "1"]);
    expect(await found(service, `&actor_id=${KEY},operator`)).toEqual(["4", "3", "1"]);
    expect(await found(service, `&actor_id=system,operator&event_type=dlq.retried,queue.deleted`)).toEqual(["5", "4"]);
    const of = async (query: string) =>
      (await service.ok("GET", `/v1/audit-events?${query}`)).data.map((event: { resource_id: string }) => event.resource_id);
    expect(await of("resource_type=dlq")).toEqual(["5", "3"]);
    expect(await of(`resource_type=dlq&actor_id=${KEY}`)).toEqual(["3"]);
    expect(await of("resource_type=dlq&event_type=dlq.retried")).toEqual(["5"]);
    expect(await of("resource_type=workspace&event_type=dlq.retried")).toEqual([]);
    const [at2, at4] = [2, 4].map((nth) => encodeURIComponent(new Date(clock.nowMs() - (6 - nth) * 1000).toISOString()));
    for (const narrowed of ["", "&event_type=dlq.retried,dlq.purged,queue.deleted", `&actor_id=${KEY},system,operator`]) {
      expect(await found(service, `&from=${at2}${narrowed}`)).toEqual(["5", "4", "3", "2"]);
      expect(await found(service, `&to=${at4}${narrowed}`)).toEqual(["3", "2", "1"]);
      expect(await found(service, `&from=${at2}&to=${at4}${narrowed}`)).toEqual(["3", "2"]);
      expect(await found(service, `&from=${at4}&to=${at2}${narrowed}`)).toEqual([]);
      const pages: string[][] = [];
      for (let cursor = ""; cursor !== null; ) {
        const page = await service.ok("GET", `/v1/audit-events?resource_type=job,dlq&limit=2${narrowed}${cursor && `&cursor=${cursor}`}`);
        pages.push(page.data.map((event: { resource_id: string }) => event.resource_id));
        cursor = page.next_cursor;
      }
      expect(pages).toEqual([["5", "4"], ["3", "2"], ["1"]]);
    }
  });

  test.for([[{}], [{ eventTypes: ["dlq.purged"] }], [{ actorIds: ["system"] }]] as const)(
    "the list of audit events reads only the part of the log with the wanted times: %o",
    async ([filter], { service, engine, clock }) => {
      const workspaceId = uuidOfWorkspace(service);
      const beganMs = clock.nowMs() + HOUR_SECONDS * 1000;
      for (let index = 0; index < 40; index += 1) {
        await clock.advance(HOUR_SECONDS);
        await record(engine, workspaceId, { resourceId: String(index) });
      }
      const at = (index: number) => new Date(beganMs + index * HOUR_SECONDS * 1000).toISOString();
      const list = async (range: { from?: string; to?: string }) => {
        const all = { workspaceId, eventTypes: null, resourceTypes: ["job"], actorIds: null, from: null, to: null, before: null };
        const listed = await listAuditEvents(engine, { ...all, ...filter, ...range, limit: 5, maxScanned: 6 });
        return [listed[0]?.reached, listed.map(({ resource_id }) => resource_id)];
      };
      expect(await list({ from: at(37) })).toEqual([null, ["39", "38", "37"]]);
      expect(await list({ to: at(2) })).toEqual([null, ["1", "0"]]);
      expect(await list({ from: at(20), to: at(22) })).toEqual([null, ["21", "20"]]);
      expect(await list({ from: at(50) })).toEqual([null, [null]]);
      expect(await list({ to: at(-50) })).toEqual([null, [null]]);
      expect(await list({ from: at(22), to: at(20) })).toEqual([null, [null]]);
    },
  );

  test("the list of audit events has those whose transactions began before the one of the event before them", async ({
    service,
    engine,
    clock,
  }) => {
    const beganMs = clock.nowMs();
    for (const seconds of [0, HOUR_SECONDS, HOUR_SECONDS - 30, HOUR_SECONDS + 30, 2 * HOUR_SECONDS]) {
      await clock.set(beganMs + seconds * 1000);
      await record(engine, uuidOfWorkspace(service), { resourceId: String(seconds) });
    }
    const at = (seconds: number) => encodeURIComponent(new Date(beganMs + seconds * 1000).toISOString());
    expect(await found(service, `&from=${at(HOUR_SECONDS - 30)}&to=${at(HOUR_SECONDS)}`)).toEqual(["3570"]);
    expect(await found(service, `&from=${at(HOUR_SECONDS)}&to=${at(HOUR_SECONDS + 1)}`)).toEqual(["3600"]);
  });

  test("GET /v1/audit-events is for admins", async ({ service }) => {
    for (const role of ["read", "write"]) {
      const key = await makeKey(service, { role });
      expect((await service.api("GET", "/v1/audit-events", undefined, { authorization: `Bearer ${key}` })).status).toBe(403);
    }
    expect((await service.api("GET", "/v1/audit-events")).status).toBe(200);
  });

  test("GET /v1/audit-events shows a workspace its own events alone", async ({ service, engine, node, database, clock }) => {
    const other = new Service(node, database, clock, await newWorkspace(database));
    await record(engine, uuidOfWorkspace(other), { resourceId: "theirs" });
    await record(engine, uuidOfWorkspace(service), { resourceId: "mine" });
    expect(await found(service)).toEqual(["mine"]);
    expect(await found(other)).toEqual(["theirs"]);
  });

  test("GET /v1/audit-events shows nothing past its retention, before anything is dropped", async ({ node, database, clock, engine }) => {
    const service = new Service(node, database, clock, await newWorkspace(database, "free"));
    await record(engine, uuidOfWorkspace(service), { actorId: KEY });
    for (const path of ["", "&event_type=dlq.purged", `&actor_id=${KEY}`]) expect(await found(service, path)).toEqual(["1"]);
    await clock.advance(7 * 86_400 - 0.001);
    for (const path of ["", "&event_type=dlq.purged", `&actor_id=${KEY}`]) expect(await found(service, path)).toEqual(["1"]);
    await clock.advance(0.001);
    for (const path of ["", "&event_type=dlq.purged", `&actor_id=${KEY}`]) expect(await found(service, path)).toEqual([]);
    expect(
      await database.query("select seq from audit_event where workspace_id = $1 and actor_id = $2", [uuidOfWorkspace(service), KEY]),
    ).toHaveLength(1);
  });
});
