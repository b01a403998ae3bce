import { describe, expect } from "vitest";
import { DatabaseClock, DuePoll, fragment, sql, systemRandom, type Uuid, uuidOf, type WorkspaceId } from "#kernel";
import { ACCESS_CHANGES_SINCE_LAST, reportAccessChanges } from "../../src/workspaces/access-changes.ts";
import { ask } from "../harness/ask.ts";
import { test as base } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { NEVER_POLL, testWith } from "../harness/nodes.ts";
import { operate } from "../harness/operator.ts";
import { until } from "../harness/service.ts";
import { take, untilWaiting } from "../harness/workers.ts";

type Changes = readonly [WorkspaceId, Uuid | null][] | null;

const test = base
  /** Polls once, and returns the changes that it found. */
  .extend("poll", async ({ engine }, { onCleanup }) => {
    const received: Changes[] = [];
    const poll = new DuePoll({
      db: engine,
      clock: new DatabaseClock(),
      sources: [{ nextDue: fragment`select moment() where false`, loop: { wakeUnlessFailed: () => {}, expectIn: () => {} } }],
      changes: {
        sinceLast: ACCESS_CHANGES_SINCE_LAST,
        receive: (changes) => {
          const found: [WorkspaceId, Uuid | null][] = [];
          reportAccessChanges(changes ?? [], (workspaceId, keyId) => found.push([workspaceId, keyId]));
          received.push(changes && found);
        },
      },
      everyMs: 3_600_000,
      emit: () => {},
      random: systemRandom,
    });
    const next = async () => {
      await until(() => received.length > 0, "the poll");
      return received.shift() as Changes;
    };
    await poll.start();
    onCleanup(() => poll.stop());
    expect(await next()).toBeNull();
    return () => {
      poll.wake();
      return next();
    };
  })
  .extend("makeKey", async ({ service }) => async () => {
    const { id } = await service.ok("POST", "/v1/keys", { name: "a key" });
    return uuidOf("key", id) as Uuid;
  });

describe("a poll finds what has changed of keys and workspaces", () => {
  test("once, also what a transaction changed that began before the last poll", async ({ poll, makeKey, service, engine, database }) => {
    const [early, late] = [await makeKey(), await makeKey()];
    const workspaceId = uuidOf("ws", service.workspaceId);
    expect(await poll()).toEqual([]);
    const revoking = hold(engine, sql`update api_key set revoked_at = moment() where id = ${early}`);
    await revoking.held;
    await database.query("update api_key set revoked_at = moment() where id = $1", [late]);
    expect(await poll()).toEqual([[workspaceId, late]]);
    expect(await poll()).toEqual([]);
    await revoking.release();
    expect(await poll()).toEqual([[workspaceId, early]]);
    expect(await poll()).toEqual([]);
  });

  test("however long the transaction was open that changed it", async ({ poll, makeKey, service, engine, database }) => {
    const key = await makeKey();
    const revoking = hold(engine, sql`update api_key set revoked_at = moment() where id = ${key}`);
    await revoking.held;
    expect(await poll()).toEqual([]);
    await revoking.release();
    await database.query("update access_change set at = at - interval '59 minutes'");
    expect(await poll()).toEqual([[uuidOf("ws", service.workspaceId), key]]);
  });

  test("and those of the last hour are kept", async ({ makeKey, database }) => {
    const [old, recent] = [await makeKey(), await makeKey()];
    const revoke = (key: Uuid) => database.query("update api_key set revoked_at = moment() where id = $1", [key]);
    await revoke(old);
    await database.query("update access_change set at = at - interval '61 minutes' where changed_key = $1", [old]);
    await revoke(recent);
    expect(await database.query("select changed_key from access_change where changed_key = any($1::uuid[])", [[old, recent]])).toEqual([
      { changed_key: recent },
    ]);
  });

  test("whoever changes it", async ({ poll, makeKey, service, database }) => {
    const workspaceId = uuidOf("ws", service.workspaceId);
    const key = await makeKey();
    const path = `/admin/v1/workspaces/${service.workspaceId}`;
    for (const change of ["role = 'worker'", "queues = '{emails}'", "workflows = '{mails}'", "expires_at = moment()"]) {
      await database.query(`update api_key set ${change} where id = $1`, [key]);
      expect([change, await poll()]).toEqual([change, [[workspaceId, key]]]);
    }
    for (const change of [{ plan: "free" }, { limits: { requests_per_minute: 7 } }, { limits: { executions_per_month: 7_000 } }]) {
      await operate(service, "PATCH", path, change);
      expect([change, await poll()]).toEqual([change, [[workspaceId, null]]]);
    }
    await database.query("delete from api_key where id = $1", [key]);
    expect(await poll()).toEqual([[workspaceId, key]]);
    await operate(service, "DELETE", path);
    expect(await poll()).toEqual([[workspaceId, null]]);
  });

  test("but not a use of a key, or a new name of a workspace", async ({ poll, makeKey, service, database }) => {
    await database.query("update api_key set last_used_at = moment() where id = $1", [await makeKey()]);
    await operate(service, "PATCH", `/admin/v1/workspaces/${service.workspaceId}`, { name: "Renamed" });
    expect(await poll()).toEqual([]);
  });
});

/** Its node never polls. */
const unpolled = testWith(NEVER_POLL);

unpolled("a call that waits ends when a poll finds that its key was revoked, though no message said so", async ({ service, database }) => {
  const queue = await service.queue();
  const { id, key } = await service.ok("POST", "/v1/keys", { name: "a worker", role: "worker" });
  // It would wait for at least 20 s.
  const waiting = ask(service.node.url, key, "POST", "/v1/work", { worker: "w2", queues: [queue], wait: 30 });
  await untilWaiting(service, queue);
  await database.query("update api_key set revoked_at = moment() where id = $1", [uuidOf("key", id)]);
  service.node.wake();
  expect((await waiting).body).toMatchObject({ jobs: [] });
  await service.enqueue({ queue });
  // A claim that was under way for the call may have to release the job first, whose attempt is then the second one.
  expect(await take(service, queue, { wait: 10 })).toHaveLength(1);
});

unpolled(
  "a call that waits ends when its key was revoked after the call was authenticated and before it began to wait",
  async ({ service, engine }) => {
    const queue = await service.queue();
    const { id, key } = await service.ok("POST", "/v1/keys", { name: "a worker", role: "worker" });
    const lock = hold(engine, sql`lock table worker in exclusive mode`);
    await lock.held;
    // It would wait for at least 20 s.
    const waiting = ask(service.node.url, key, "POST", "/v1/work", { worker: "new", queues: [queue], wait: 30 });
    await lock.untilWaiting(1);
    await service.ok("DELETE", `/v1/keys/${id}`);
    await lock.release();
    expect((await waiting).body).toMatchObject({ jobs: [] });
    await service.enqueue({ queue });
    // A claim that was under way for the call may have to release the job first, whose attempt is then the second one.
    expect(await take(service, queue, { wait: 10 })).toHaveLength(1);
  },
);
