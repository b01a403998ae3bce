import { expect } from "vitest";
import { until } from "../../../server/test/harness/service.ts";
import { test as stageTest } from "../../../server/test/harness/stage.ts";
import { test } from "./client.ts";

/** JavaScript's numbers have neither all of the first one's digits nor the zero of the second. */
const PAYLOAD = '{"n":12345678901234567890,"price":1.0}';
/** The same on several lines, as `--json` prints it. */
const spread = (output: string): string => output.replaceAll(/\s/g, "");

test("a payload is shown with the digits that it was enqueued with", async ({ command, service }) => {
  const queue = await service.queue();
  const { id } = await command.json("enqueue", queue, PAYLOAD);
  expect(await command.output("job", "get", id)).toContain(`payload\t${PAYLOAD}\n`);
  for (const args of [
    ["job", "get", queue, id],
    ["job", "list", queue],
  ])
    expect(spread(await command.output(...args, "--json"))).toContain(`"payload":${PAYLOAD}`);
});

test("a result is shown with its digits", async ({ command, service }) => {
  const headers = { "content-type": "application/json" };
  const handler = await service.handler({ answers: { status: 200, headers, body: '{"id":12345678901234567890}' } });
  const { id } = await service.ok("POST", `/v1/queues/${handler.queue}/jobs`, { payload: 1 });
  expect(await command.output("job", "watch", id)).toContain('{"id":12345678901234567890}');
  expect(await command.output("job", "get", id)).toContain('result\t{"id":12345678901234567890}\n');
});

test("a failed job and a schedule are shown with the digits of their payloads", async ({ command, service }) => {
  const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
  const enqueued = await command.json("enqueue", handler.queue, PAYLOAD);
  await until(async () => (await command.json("dlq", "list")).length === 1);
  expect(spread(await command.output("dlq", "list", "--json"))).toContain(`"id":"${enqueued.id}","queue":"${handler.queue}"`);
  expect(spread(await command.output("dlq", "list", "--json"))).toContain(`"payload":${PAYLOAD}`);
  const fields = ["--name", "nightly", "--queue", handler.queue, "--cron", "@yearly", "--timezone", "UTC", "--payload", PAYLOAD];
  expect(await command.output("schedule", "create", ...fields)).toContain(`payload\t${PAYLOAD}\n`);
});

stageTest("dev shows a callback's payload with its digits", async ({ stage }) => {
  const dev = stage.program(["dev", "--port", "0"]);
  await until(() => dev.stdout.includes("Listening on"), "the receiver to listen");
  const [, url = ""] = /Listening on (\S+)\. /.exec(dev.stdout) ?? [];
  await fetch(url, { method: "POST", body: `{"queue":"emails","attempt":1.0,"payload":${PAYLOAD}}` });
  await until(() => dev.stdout.includes("}\n"), "the callback to be shown");
  expect(spread(dev.stdout)).toContain(PAYLOAD);
});
