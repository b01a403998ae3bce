import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { tamper } from "../../server/test/harness/audit.ts";
import { type Stage, test } from "../../server/test/harness/stage.ts";
import { runHere } from "./run-here.ts";

/** A database with two workspaces. The second one created three queues over HTTP. */
async function setUp(stage: Stage) {
  const database = await stage.database();
  const settings = { DATABASE_URL: database.url };
  const node = await stage.node(settings);
  const make = async () =>
    JSON.parse((await runHere(["workspace", "create", "Acme", "--json"], settings)).stdout) as { id: string; key: string };
  const { id, key } = await make();
  for (const name of ["one", "two", "three"]) {
    const reply = await fetch(`${node.url}/v1/queues`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ name }),
    });
    expect(reply.status).toBe(201);
  }
  return { database, settings, id };
}

test("tidemill audit verify reads every chain, and names the first event that is wrong, beside a running node", async ({ stage }) => {
  const { database, settings, id } = await setUp(stage);
  const verify = (...args: string[]) => runHere(["audit", "verify", ...args], settings);
  const whole = await stage.run(["audit", "verify"], settings);
  expect(whole).toMatchObject({ code: 0, stderr: "" });
  expect(whole.stdout).toMatch(/^Read \d+ audit events in 2 workspaces\.\n$/);
  const { stdout, code } = await verify(id, "--json");
  const report = JSON.parse(stdout);
  expect([code, report]).toEqual([
    0,
    {
      workspaces: 1,
      events: report.chains[0].head.seq,
      chains: [
        {
          workspace: id,
          events: expect.any(Number),
          head: { seq: expect.any(Number), hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
          broken: null,
        },
      ],
    },
  ]);
  expect(report.events).toBeGreaterThanOrEqual(3);

  const notes = path.join(stage.directory(), "heads.json");
  writeFileSync(notes, stdout);
  expect(await verify("--noted", notes)).toMatchObject({ code: 0, stderr: "" });
  writeFileSync(notes, JSON.stringify({ chains: [{ workspace: id, head: { ...report.chains[0].head, hash: "0".repeat(64) } }] }));
  expect(await verify("--noted", notes)).toMatchObject({ code: 1, stderr: expect.stringMatching(/was altered\.\n$/) });
  writeFileSync(notes, '{"chains":[{}]}');
  expect((await verify("--noted", notes)).stderr).toBe(`tidemill: ${notes} is not the output of "tidemill audit verify --json".\n`);

  await tamper(database, "update audit_event set actor_id = 'nobody' where resource_id = 'two'");
  const altered = await stage.run(["audit", "verify"], settings);
  expect([altered.code, altered.stdout]).toEqual([1, expect.stringMatching(/^Read \d+ audit events in 2 workspaces\.\n$/)]);
  expect(altered.stderr).toMatch(new RegExp(`^tidemill: The audit log of ${id} is broken: event \\d+ \\(aud_\\w{26}\\) was altered\\.\n$`));
  const asJson = await verify("--json");
  expect([asJson.code, JSON.parse(asJson.stdout).chains.filter(({ broken }: { broken: unknown }) => broken)]).toEqual([
    1,
    [expect.objectContaining({ workspace: id, broken: { seq: expect.any(Number), id: expect.any(String), problem: "altered" } })],
  ]);

  await tamper(database, "delete from audit_event where resource_id = 'one'");
  expect((await verify(id)).stderr).toMatch(/: event \d+ is missing\.\n$/);
});

test("tidemill audit verify says so when there is no such workspace", async ({ stage }) => {
  const { url } = await stage.database();
  const absent = await stage.run(["audit", "verify", "ws_01m7zf6kffe00a0a7enfysbfm9"], { DATABASE_URL: url });
  expect(absent).toMatchObject({ code: 1, stdout: "", stderr: 'tidemill: There is no workspace "ws_01m7zf6kffe00a0a7enfysbfm9".\n' });
  const dataDir = stage.dataDir();
  const malformed = await stage.run(["audit", "verify", "acme"], { TIDEMILL_DATA_DIR: dataDir });
  expect(malformed).toMatchObject({ code: 1, stdout: "", stderr: 'tidemill: "acme" is not the id of a workspace.\n' });
  expect(existsSync(dataDir)).toBe(false);
});
