import { describe, expect } from "vitest";
import { type Database, LoopTime, type SlicedWork, sql, type WorkspaceId } from "#kernel";
import { Keyring, type SecretUse } from "#vault";
import { SecretAccess } from "../../src/vault/access.ts";
import { auditLog, ids } from "../harness/audit.ts";
import { test } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { MASTER_KEY, newWorkspace, Service } from "../harness/service.ts";

interface Told {
  readonly event: string;
  readonly fields: Record<string, unknown>;
}

async function access(db: Database, masterKey = MASTER_KEY, loopTime = new LoopTime()): Promise<{ secrets: SecretAccess; told: Told[] }> {
  const told: Told[] = [];
  const keyring = await Keyring.open({ masterKeys: [masterKey], masterKeyFile: null, dataDir: "/nowhere" });
  const emit = (event: string, fields: Record<string, unknown> = {}) => void told.push({ event, fields });
  return { secrets: new SecretAccess({ db, keyring, audit: auditLog, ids, emit, loopTime }), told };
}

async function workspaceIdOf(service: Service): Promise<WorkspaceId> {
  const [found] = await service.database.query<{ id: WorkspaceId }>(
    "select workspace_id as id from api_key where hash = sha256($1::text::bytea)",
    [service.key],
  );
  return found?.id as WorkspaceId;
}

async function useOf(service: Service, ...names: string[]): Promise<SecretUse> {
  return { workspaceId: await workspaceIdOf(service), queue: "emails", host: "example.com", jobId: "job_1", attempt: 1, names };
}

/** Another workspace. Both have a secret A, with these values. */
async function otherWithSecret(service: Service, mine: string, theirs = mine): Promise<Service> {
  const { node, database, clock } = service;
  const other = new Service(node, database, clock, await newWorkspace(database));
  await service.ok("POST", "/v1/secrets", { name: "A", value: mine });
  await other.ok("POST", "/v1/secrets", { name: "A", value: theirs });
  return other;
}

const eventsOf = async (service: Service) =>
  (await service.ok("GET", "/v1/audit-events?resource_type=secret")).data.map(
    ({ event_type, resource_id }: { event_type: string; resource_id: string }) => `${event_type} ${resource_id}`,
  );

describe("secrets are handed out", () => {
  test("secrets are handed out together to all who ask at the time, each workspace its own", async ({ service, engine }) => {
    const other = await otherWithSecret(service, "mine", "theirs");
    const { secrets } = await access(engine);
    const uses = [await useOf(service, "A"), await useOf(other, "A"), await useOf(other, "A", "B")];
    const got = await Promise.allSettled(uses.map((use) => secrets.resolve(use)));
    expect(got).toMatchObject([
      { value: { values: new Map([["A", "mine"]]) } },
      { value: { values: new Map([["A", "theirs"]]) } },
      { reason: { code: "SECRET_NOT_FOUND", message: "There is no secret B." } },
    ]);
    expect(await eventsOf(service)).toEqual(["secret.accessed A", "secret.created A"]);
  });

  test("secrets are handed out in turns of workspaces, and not for attempts that were withdrawn meanwhile", async ({ service, engine }) => {
    const other = await otherWithSecret(service, "x");
    const read: string[][] = [];
    const db = {
      query: (statement: Parameters<Database["query"]>[0]) => {
        if (statement.text.includes("requested")) read.push(String(statement.values[1]).slice(1, -1).split(","));
        return engine.query(statement);
      },
    };
    const { secrets } = await access(db as Database);
    const [mine, theirs] = [await useOf(service, "A"), await useOf(other, "A")];
    const withdrawn = new AbortController();
    const queues = Array.from({ length: 1_200 }, (_, index) => ({ ...mine, queue: `q${index}` }));
    const many = queues.map((use, index) => secrets.resolve(use, index >= 1_000 ? withdrawn.signal : undefined));
    const settled = Promise.allSettled(many);
    const late = secrets.resolve(theirs);
    withdrawn.abort(new Error("withdrawn"));
    await late;
    expect(read[0]?.[1]).toBe(theirs.workspaceId);
    const results = await settled;
    expect(results.filter(({ status }) => status === "rejected")).toHaveLength(200);
    expect(read.flat()).toHaveLength(1_001);
  });

  test("secrets of one workspace do not wait while another node appends to the audit log of one with many attempts", async ({
    service,
    engine,
  }) => {
    const other = await otherWithSecret(service, "x");
    const { secrets } = await access(engine);
    const [mine, theirs] = [await useOf(service, "A"), await useOf(other, "A")];
    const lock = hold(engine, sql`select from audit_chain where workspace_id = ${theirs.workspaceId} for update`);
    await lock.held;
    const many = Array.from({ length: 1_000 }, (_, index) => secrets.resolve({ ...theirs, queue: `q${index}` }));
    await lock.untilWaiting(1);
    expect((await secrets.resolve(mine)).values).toEqual(new Map([["A", "x"]]));
    await lock.release();
    expect(await Promise.all(many)).toHaveLength(1_000);
  });

  test("secrets of one workspace do not wait for the work on the event loop of another one, with which they were read", async ({
    service,
    engine,
  }) => {
    const other = await otherWithSecret(service, "x".repeat(4_096));
    const loopTime = new LoopTime();
    const { secrets } = await access(engine, MASTER_KEY, loopTime);
    const [mine, theirs] = [await useOf(service, "A"), await useOf(other, "A")];
    let ended = false;
    const work = loopTime.run(
      theirs.workspaceId,
      1_000_000,
      (function* () {
        while (!ended) yield;
      })(),
    );
    const got: string[] = [];
    const first = secrets.resolve(theirs).then(() => got.push("theirs"));
    await secrets.resolve(mine).then(() => got.push("mine"));
    // What is added of a workspace whose secrets are not decrypted waits, and what is added of others does not.
    const second = secrets.resolve({ ...theirs, queue: "later" });
    await secrets.resolve(mine);
    expect(got).toEqual(["mine"]);
    ended = true;
    await Promise.all([work, first, second]);
    expect(got).toEqual(["mine", "theirs"]);
  });

  test("large secrets are read by several statements, of which each records what it hands out", async ({ service, engine }) => {
    const values = ["a", "b", "c"].map((letter) => letter.repeat(60 * 1024));
    for (const [index, value] of values.entries()) await service.ok("POST", "/v1/secrets", { name: `S${index}`, value });
    const bytes: number[] = [];
    const db = {
      query: async (statement: Parameters<Database["query"]>[0]) => {
        const done = await engine.query(statement);
        if (statement.text.includes("requested")) {
          const rows = done.rows as { ciphertext: Buffer }[];
          bytes.push(rows.reduce((sum, { ciphertext }) => sum + ciphertext.length, 0));
        }
        return done;
      },
    };
    const { secrets } = await access(db as Database);
    const use = await useOf(service, "S0", "S1", "S2");
    const uses = Array.from({ length: 30 }, (_, index) => ({ ...use, queue: `q${index}` }));
    const got = await Promise.all(uses.map((one) => secrets.resolve(one)));
    for (const { values: resolved } of got) expect([...resolved.values()].map((value) => value[0])).toEqual(["a", "b", "c"]);
    expect(bytes.length).toBeGreaterThan(1);
    for (const one of bytes) expect(one).toBeLessThanOrEqual(2 * 1024 * 1024);
    expect((await eventsOf(service)).filter((event: string) => event.startsWith("secret.accessed"))).toHaveLength(30);
  });

  test("an attempt with more secrets than a statement returns of several gets all of its own", async ({ service, engine }) => {
    const names = Array.from({ length: 40 }, (_, index) => `S${index}`);
    for (const name of names) await service.ok("POST", "/v1/secrets", { name, value: name.padEnd(60 * 1024, "x") });
    const { secrets } = await access(engine);
    const use = await useOf(service, ...names);
    const got = await Promise.all(
      [use, { ...use, queue: "other" }, { ...use, names: ["ABSENT"] }].map((one) => secrets.resolve(one).catch((error) => error)),
    );
    expect(got.map((one) => one.values?.size ?? one.code)).toEqual([40, 40, "SECRET_NOT_FOUND"]);
  });

  test("secrets are decrypted in slices of the event loop, in the turns of their workspace", async ({ service, engine }) => {
    for (const name of ["A", "B", "C"]) await service.ok("POST", "/v1/secrets", { name, value: name.padEnd(4_096, "x") });
    const ran: [WorkspaceId, number, number][] = [];
    class Counted extends LoopTime {
      override run<Result>(workspaceId: WorkspaceId, characters: number, work: SlicedWork<Result>): Result {
        for (let slices = 1; ; slices += 1) {
          const step = work.next();
          if (!step.done) continue;
          ran.push([workspaceId, characters, slices]);
          return step.value;
        }
      }
    }
    const { secrets } = await access(engine, MASTER_KEY, new Counted());
    const use = await useOf(service, "A", "B", "C");
    await secrets.resolve(use);
    expect(ran).toEqual([[use.workspaceId, 3 * (4_096 + 29), 4]]);
  });

  test("a node that does not have the master key hands no secret out for now, which is no fault of the secret", async ({
    service,
    engine,
  }) => {
    await service.ok("POST", "/v1/secrets", { name: "A", value: "mine" });
    const { secrets, told } = await access(engine, "f".repeat(64));
    await expect(secrets.resolve(await useOf(service, "A"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(told).toEqual([{ event: "master_key_not_found", fields: { masterKeyId: expect.stringMatching(/^[\da-f]{16}$/) } }]);
    expect(await eventsOf(service)).not.toContain("secret.unreadable A");
  });

  test("a secret is not handed out when the audit log cannot have it, and others are all the same", async ({
    service,
    engine,
    database,
  }) => {
    const other = await otherWithSecret(service, "mine", "theirs");
    const mine = await useOf(service, "A");
    await database.query(`create function unlucky() returns trigger language plpgsql as
      $$ begin if new.workspace_id = '${mine.workspaceId}' then raise exception 'unlucky' using errcode = '40P01'; end if; return new; end $$`);
    await database.query("create trigger unlucky before insert on audit_event for each row execute function unlucky()");
    const { secrets, told } = await access(engine);
    const got = await Promise.allSettled([mine, await useOf(other, "A"), mine].map((use) => secrets.resolve(use)));
    await database.query("drop function unlucky cascade");
    expect(got).toMatchObject([
      { reason: { code: "UNAVAILABLE" } },
      { value: { values: new Map([["A", "theirs"]]) } },
      { reason: { code: "UNAVAILABLE" } },
    ]);
    expect(told.map(({ event }) => event)).toContain("secret_access_failed");
    expect(await eventsOf(service)).toEqual(["secret.created A"]);
    expect(await eventsOf(other)).toEqual(["secret.accessed A", "secret.created A"]);
  });

  test.for([
    "allowed_queues = null",
    "allowed_queues = '{emails,other}'",
    "allowed_hosts = null",
    "allowed_hosts = '{example.com,evil.test}'",
  ])("a secret whose limits were widened in the database is not handed out: %s", async (change, { service, engine }) => {
    await service.ok("POST", "/v1/secrets", { name: "A", value: "mine", allowed_queues: ["emails"], allowed_hosts: ["example.com"] });
    const { secrets } = await access(engine);
    const use = await useOf(service, "A");
    expect(await secrets.resolve(use)).toMatchObject({ values: new Map([["A", "mine"]]) });
    await service.database.query(`update secret set ${change} where workspace_id = $1`, [use.workspaceId]);
    await expect(secrets.resolve(use)).rejects.toMatchObject({ code: "SECRET_UNREADABLE" });
  });

  test.for(["ciphertext", "wrapped_key", "ciphertext, wrapped_key"])(
    "two secrets whose %s were swapped are refused and audited",
    async (columns, { service, engine }) => {
      for (const name of ["A", "B"]) await service.ok("POST", "/v1/secrets", { name, value: name });
      const row =
        columns.split(", ").length > 1 ? `(${columns}) = (select ${columns.replace(/\w+/g, "o.$&")}` : `${columns} = (select o.${columns}`;
      const uses = await useOf(service, "A");
      await service.database.query(
        `update secret s set ${row} from secret o where o.workspace_id = s.workspace_id and o.name <> s.name) where workspace_id = $1`,
        [uses.workspaceId],
      );
      const { secrets } = await access(engine);
      for (const name of ["A", "B"]) {
        await expect(secrets.resolve({ ...uses, names: [name] })).rejects.toMatchObject({ code: "SECRET_UNREADABLE" });
      }
      expect(await eventsOf(service)).toEqual([
        "secret.unreadable B",
        "secret.accessed B",
        "secret.unreadable A",
        "secret.accessed A",
        "secret.created B",
        "secret.created A",
      ]);
    },
  );
});
