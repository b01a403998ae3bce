import { expect } from "vitest";
import type { Statement, Transactional } from "#kernel";
import { LargeTexts } from "../../src/kernel/database/large-texts.ts";
import { test } from "../harness/engine.ts";
import { addWebhooks, makeDeliveries, putEvent, putWebhook } from "../harness/webhook-rows.ts";

const MEGABYTE = 1024 * 1024;

function bytesOf(value: unknown): number {
  if (!(value instanceof LargeTexts)) return Buffer.isBuffer(value) ? value.length : String(value).length;
  const measuring = value.measure();
  for (;;) {
    const { done, value: bytes } = measuring.next();
    if (done) return bytes;
  }
}

const sizeOf = ({ values }: Statement): number => values.reduce<number>((sum, value) => sum + bytesOf(value), 0);

test("large events for many webhooks are delivered by statements and transactions of a bounded size, in order", async ({
  database,
  engine,
}) => {
  const lane = await putWebhook(database);
  await addWebhooks(database, lane, 19);
  const other = await putWebhook(database);
  for (let n = 0; n < 40; n += 1) await putEvent(database, lane, JSON.stringify({ n, text: "x".repeat(63_000) }));
  await putEvent(database, other);
  const sizes: number[][] = [];
  const measured: Transactional = {
    query: (statement) => engine.query(statement),
    transaction: (work) => {
      const own: number[] = [];
      sizes.push(own);
      return engine.transaction((tx) =>
        work({
          query: (statement) => {
            own.push(sizeOf(statement));
            return tx.query(statement);
          },
        }),
      );
    },
  };
  await makeDeliveries(measured);
  expect(await database.query("select from event_outbox")).toEqual([]);
  const delivered = await database.query<{ n: number }>(
    `select (e.body::json -> 'data' ->> 'n')::int as n from webhook_delivery d join webhook_event e on e.workspace_id = d.workspace_id and e.id = d.event_id
     where d.lane_id = $1 order by d.id`,
    [lane.laneId],
  );
  expect(delivered.map(({ n }) => n)).toEqual(Array.from({ length: 40 }, (_, n) => n));
  expect(await database.query("select from webhook_delivery")).toHaveLength(20 * 40 + 1);
  expect(Math.max(...sizes.flat())).toBeLessThan(8 * MEGABYTE);
  expect(Math.max(...sizes.map((own) => own.reduce((sum, size) => sum + size, 0)))).toBeLessThan(24 * MEGABYTE);
});
