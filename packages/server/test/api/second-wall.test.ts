import { expect, inject } from "vitest";
import { sql, Tenants, uuidOf, type WorkspaceId } from "#kernel";
import { test as base, newWorkspace, Service, startTestNode } from "../harness/service.ts";
import { TamperedWire } from "../harness/tampered-wire.ts";
import { describeTenancy } from "./tenancy.ts";

/** A node whose statements have lost their workspace predicate, with or without the database's own isolation. */
const withoutPredicates = (views: boolean) =>
  base
    .extend("wire", { scope: "file" }, async ({}, { onCleanup }) => {
      const { host, port } = inject("postgres");
      const wire = await TamperedWire.to(host, port, { views });
      onCleanup(() => wire.close());
      return wire;
    })
    .extend("node", { scope: "file" }, async ({ database, clock, wire }, { onCleanup }) => {
      const node = await startTestNode(database, clock, { DATABASE_URL: wire.url(database.name) });
      onCleanup(() => node.stop());
      return node;
    });

const test = withoutPredicates(true);
const testWithoutViews = withoutPredicates(false);

describeTenancy(test as unknown as typeof base);

test("the first wall was all that held where statements had lost their workspace", async ({ service, wire }) => {
  await service.ok("GET", "/v1/queues");
  await service.ok("GET", "/v1/status");
  expect(wire.tampered.size).toBeGreaterThan(15);
  for (const statement of wire.tampered) expect(statement).toMatch(/workspace/);
});

testWithoutViews("without either wall a customer would see another's queues, jobs and keys", async ({ service }) => {
  const { node, database, clock } = service;
  const other = new Service(node, database, clock, await newWorkspace(database));
  await other.ok("POST", "/v1/queues", { name: "theirs" });
  const job = await other.enqueue({ queue: "theirs" });
  expect((await service.ok("GET", "/v1/queues")).data).toMatchObject([{ name: "theirs" }]);
  expect(await service.job(job)).toMatchObject({ id: job.id });
  const { id: key } = await other.ok("POST", "/v1/keys", { name: "theirs" });
  expect((await service.ok("GET", "/v1/keys")).data).toEqual(expect.arrayContaining([expect.objectContaining({ id: key })]));
});

test("the second wall stands before every table and view that holds rows of a workspace, with all their columns", async ({ database }) => {
  const columnsOf = (schema: string) =>
    database.query<{ relation: string; columns: string[] }>(
      `select c.relname as relation, array_agg(a.attname::text order by a.attnum) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition group by 1 order by 1`,
      [schema],
    );
  const owned = (await columnsOf("tidemill")).filter(
    ({ relation, columns }) => relation === "workspace" || columns.includes("workspace_id"),
  );
  expect(owned.map(({ relation }) => relation)).toEqual(expect.arrayContaining(["api_key", "job", "job_history", "job_record", "queue"]));
  expect(await columnsOf("tidemill_tenant")).toEqual(owned);
});

test("the second wall shows nothing to a session without a workspace, and lets none write for another", async ({
  service,
  database,
  onTestFinished,
}) => {
  const tenants = new Tenants({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 5_000 });
  onTestFinished(() => tenants.close());
  const [mine, theirs] = [service.workspaceId, (await newWorkspace(database)).id].map((id) => uuidOf("ws", id) as WorkspaceId);
  if (!mine || !theirs) throw new Error("The ids are none.");
  await service.queue();
  expect(await database.query("select from tidemill_tenant.queue")).toEqual([]);
  const insert = (owner: WorkspaceId) =>
    sql`insert into lane (workspace_id, kind, name, served) values (${owner}, 'queue', 'smuggled', 'pull')`;
  await expect(tenants.of(mine).query(insert(theirs))).rejects.toMatchObject({ code: "44000" });
  await expect(tenants.of(mine).transaction((tx) => tx.query(sql`update lane set workspace_id = ${theirs}`))).rejects.toMatchObject({
    code: "44000",
  });
  expect((await tenants.of(theirs).query(sql`select from queue`)).rows).toEqual([]);
  expect((await tenants.of(mine).query(sql`select from queue`)).rows).toEqual([{}]);
});
