import { writeFileSync } from "node:fs";
import { countNodesWithout, systemRandom } from "@tidemill/server";
import { expect } from "vitest";
import { readConfig } from "#kernel";
import { openVault } from "#vault";
import { makeMasterKey, writeMasterKey } from "../../src/vault/master-key.ts";
import { register, renew } from "../harness/node-leases.ts";
import { until } from "../harness/service.ts";
import { test as base } from "../harness/stage.ts";
import { VaultFixture } from "../harness/vault.ts";

const test = base.extend("vault", ({ stage }) => VaultFixture.create(stage));

test("a key that the vault is locked with and that is not found is told of once, and taken up when it is there", async ({ vault }) => {
  const told: unknown[] = [];
  const { keyring, releaseLock, findKey } = await openVault({
    config: readConfig({ TIDEMILL_MASTER_KEY_FILE: vault.file }),
    connection: { connectionString: vault.database.url },
    db: vault.engine,
    random: systemRandom,
    emit: (event, fields) => told.push([event, fields]),
    countNodes: async () => 0,
  });
  await releaseLock();
  const next = makeMasterKey(systemRandom);
  for (let renewal = 0; renewal < 3; renewal += 1) await findKey(next.id);
  expect(told).toEqual([["master_key_not_found", { masterKeyId: next.id }]]);
  writeFileSync(`${vault.file}.next`, writeMasterKey(next), { mode: 0o600 });
  await findKey(next.id);
  expect([keyring.has(next.id), told.length]).toEqual([true, 1]);
});

test("a node that registers anew without a key either is counted as without it or learns that the vault is locked with it", async ({
  vault,
}) => {
  await (await vault.node()).stop();
  const rotation = await vault.stage.session(vault.database);
  await rotation.query("begin");
  await rotation.query("select from vault for update");
  const registering = register(vault.engine, 15, ["the old key"]);
  await until(
    async () =>
      (await vault.database.query("select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'"))
        .length > 0,
    "the registration to wait",
  );
  expect(await countNodesWithout(vault.engine, "the new key")).toBe(0);
  await rotation.query("update vault set master_key_id = 'the new key'");
  await rotation.query("commit");
  expect(await registering).toMatchObject({ vault_key: "the new key" });
  expect(await countNodesWithout(vault.engine, "the new key")).toBe(1);
});

test("a renewal tells which key the vault is locked with", async ({ vault }) => {
  await (await vault.node()).stop();
  const { vault: current } = await vault.keys();
  const node = await register(vault.engine, 15);
  expect(await renew(vault.engine, node?.id ?? 0, 15)).toMatchObject({ vault_key: current });
});
