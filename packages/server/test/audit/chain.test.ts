import { expect } from "vitest";
import type { Transactional } from "#kernel";
import { appendMany, auditLog, fact, record, recordMany, verified } from "../harness/audit.ts";
import { putLane, test } from "../harness/engine.ts";

test("events of many writers at once, in sessions of the workspace and across, make one chain without gaps", async ({
  database,
  engine,
  tenants,
}) => {
  const { workspaceId } = await putLane(database);
  const writers: Transactional[] = [engine, tenants.of(workspaceId)];
  await Promise.all(Array.from({ length: 60 }, (_, at) => record(writers[at % 2] as Transactional, workspaceId, { resourceId: `${at}` })));
  const chained = await database.query<{ seq: string; previous: string; hash: string }>(
    "select seq, encode(previous, 'hex') as previous, encode(hash, 'hex') as hash from audit_event where workspace_id = $1 order by seq",
    [workspaceId],
  );
  expect(chained.map(({ seq }) => Number(seq))).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
  expect(chained.map(({ previous }) => previous)).toEqual(["0".repeat(64), ...chained.slice(0, -1).map(({ hash }) => hash)]);
  expect(await verified(engine, workspaceId)).toMatchObject({ events: 60, head: { seq: 60, hash: chained.at(-1)?.hash }, broken: null });
});

test("workspaces have chains of their own", async ({ database, engine }) => {
  const [one, other] = [(await putLane(database)).workspaceId, (await putLane(database)).workspaceId];
  await Promise.all([...Array(10).fill(one), ...Array(5).fill(other)].map((workspaceId) => record(engine, workspaceId)));
  expect(await verified(engine, one)).toMatchObject({ events: 10, head: { seq: 10 }, broken: null });
  expect(await verified(engine, other)).toMatchObject({ events: 5, head: { seq: 5 }, broken: null });
});

test("an event of a transaction that is undone leaves no trace", async ({ database, engine }) => {
  const { workspaceId } = await putLane(database);
  await recordMany(engine, workspaceId, 2);
  const before = await verified(engine, workspaceId);
  const failing = engine.transaction(async (tx) => {
    await auditLog.record(tx, fact(workspaceId));
    throw new Error("What it told of failed.");
  });
  await expect(failing).rejects.toThrow("What it told of failed.");
  expect(await verified(engine, workspaceId)).toEqual(before);
  await record(engine, workspaceId);
  expect(await verified(engine, workspaceId)).toMatchObject({ events: 3, head: { seq: 3 }, broken: null });
});

test("several events of one transaction stand in its order", async ({ database, engine }) => {
  const { workspaceId } = await putLane(database);
  await engine.transaction(async (tx) => {
    for (const resourceId of ["1", "2", "3"]) await auditLog.record(tx, fact(workspaceId, { resourceId }));
  });
  expect(await database.query("select resource_id from audit_event where workspace_id = $1 order by seq", [workspaceId])).toEqual([
    { resource_id: "1" },
    { resource_id: "2" },
    { resource_id: "3" },
  ]);
  expect((await verified(engine, workspaceId)).broken).toBeNull();
});

test("a session of one workspace writes nothing to another's chain", async ({ database, engine, tenants }) => {
  const [mine, theirs] = [(await putLane(database)).workspaceId, (await putLane(database)).workspaceId];
  await expect(record(tenants.of(mine), theirs)).rejects.toThrow("there is no workspace");
  expect(await verified(engine, theirs)).toMatchObject({ events: 0, head: { seq: 0 }, broken: null });
});

test.for([
  ["nothing", null, null],
  ["empty objects", {}, {}],
  ["every kind of text", { "": '🌊\u0000 \\ " é', "10:x-": ["-", null] }, { n: 1.5 }],
  ["much", { long: "ä".repeat(300_000) }, null],
] as const)("the hash is the same to the database and to the verification: %s", async ([, input, output], { database, engine }) => {
  const { workspaceId } = await putLane(database);
  await record(engine, workspaceId, { input, output, resourceId: "-1:é", actorId: "" });
  expect(await verified(engine, workspaceId)).toMatchObject({ events: 1, broken: null });
});

test("a chain longer than what is read at once is verified whole", async ({ database, engine }) => {
  const { workspaceId } = await putLane(database);
  await appendMany(database, workspaceId, 1_501);
  expect(await verified(engine, workspaceId)).toMatchObject({ events: 1_501, head: { seq: 1_501 }, broken: null });
});
