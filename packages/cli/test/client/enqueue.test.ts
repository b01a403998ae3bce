import { writeFileSync } from "node:fs";
import path from "node:path";
import { PassThrough } from "node:stream";
import { expect, onTestFinished } from "vitest";
import { type Fault, FaultyProxy } from "../../../sdk/test/harness/faulty-proxy.ts";
import { type Service, until } from "../../../server/test/harness/service.ts";
import { type CommandLine, test } from "./client.ts";

const waiting = async (service: Service, queue: string): Promise<number> =>
  (await service.ok("GET", `/v1/queues/${queue}`)).metrics.waiting;

function fileOf(command: CommandLine, lines: readonly string[]): string {
  const file = path.join(command.directory, "lines.ndjson");
  writeFileSync(file, lines.join("\n"));
  return file;
}

/** Jobs in batches of 1,000: more than two of them. */
const many = (): string[] => Array.from({ length: 2_500 }, (_, n) => JSON.stringify({ n }));

test("a payload is enqueued with its options", async ({ command, service }) => {
  const queue = await service.queue();
  const job = await command.json("enqueue", queue, '{"to":"ada"}', "--tag", "welcome", "--delay", "60");
  expect(job).toMatchObject({ queue, state: "delayed", payload: { to: "ada" }, tag: "welcome" });
});

test("a payload from a file keeps the digits of its numbers", async ({ command, service }) => {
  const queue = await service.queue();
  const { id } = await command.json("enqueue", queue, "--file", fileOf(command, ['{"n":12345678901234567890,"f":1.10}']));
  const { text } = await service.api("GET", `/v1/queues/${queue}/jobs/${id}`);
  expect(text).toContain('{"n":12345678901234567890,"f":1.10}');
});

test("each line of a file is a job", async ({ command, service }) => {
  const queue = await service.queue();
  const file = fileOf(command, ["", ...many(), "  "]);
  expect(await command.json("enqueue", queue, "--ndjson", "--file", file, "--tag", "bulk")).toEqual({ jobs: 2_500, duplicates: 0 });
  expect(await waiting(service, queue)).toBe(2_500);
});

test("a line can be a whole job, whose fields go before the options", async ({ command, service }) => {
  const queue = await service.queue();
  const file = fileOf(command, ['{"payload":1,"tag":"own"}', '{"payload":2}']);
  await command.output("enqueue", queue, "--ndjson", "--jobs", "--file", file, "--tag", "shared");
  const tags = (await command.json("job", "list", queue)).map(({ tag }: { tag: string }) => tag);
  expect(tags.sort()).toEqual(["own", "shared"]);
});

test("a line that is not JSON ends the run with its number; all lines before it are enqueued, and the run can go on", async ({
  command,
  service,
}) => {
  const queue = await service.queue();
  const lines = many();
  const broken = fileOf(command, lines.with(1_200, "{oops"));
  const { code, stderr } = await command.run("enqueue", queue, "--ndjson", "--file", broken);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^tidemill: line 1201: .+ at position 1$/m) });
  expect(await waiting(service, queue)).toBe(1_200);

  const [, point = ""] = /--resume (\S+)/.exec(stderr) ?? [];
  fileOf(command, lines);
  expect(await command.json("enqueue", queue, "--ndjson", "--file", broken, "--resume", point)).toEqual({ jobs: 1_300, duplicates: 0 });
  expect(await waiting(service, queue)).toBe(2_500);
});

test("a run is not resumed with an input that ends before its point", async ({ command, service }) => {
  const queue = await service.queue();
  const run = "01234567-89ab-4cde-8f01-23456789abcd";
  const resume = (line: number) =>
    command.run("enqueue", queue, "--ndjson", "--file", fileOf(command, ["1", "2", ""]), "--resume", `${run}@${line}`);
  expect(await resume(3)).toMatchObject({ code: 0, stderr: "" });
  expect(await resume(4)).toEqual({
    code: 1,
    stdout: "",
    stderr: "tidemill: The input ends at line 2, before line 4: it is not the input of the run to resume.\n",
  });
});

test("a line that the service refuses is named, and a resumed run enqueues no line twice", async ({ command, service }) => {
  const queue = await service.queue();
  const lines = many().map((payload) => `{"payload":${payload}}`);
  const refused = fileOf(command, lines.with(700, '{"payload":1,"priority":1000}'));
  const { stderr } = await command.run("enqueue", queue, "--ndjson", "--jobs", "--file", refused);
  expect(stderr).toContain("tidemill: line 701: priority ");

  const [, point = ""] = /--resume (\S+)/.exec(stderr) ?? [];
  fileOf(command, lines);
  await command.output("enqueue", queue, "--ndjson", "--jobs", "--file", refused, "--resume", point);
  expect(await waiting(service, queue)).toBe(2_500);
});

test("a service that dies in the middle and comes back has each line once", async ({ command, service }) => {
  const queue = await service.queue();
  const proxy = await FaultyProxy.to(service.node.url);
  onTestFinished(() => proxy.close());
  const faults: Fault[] = ["cut after", "cut within", "cut before"];
  proxy.faultOf = ({ path }) => (path.endsWith("/jobs/batch") ? (faults.shift() ?? null) : null);
  const done = await command.json("enqueue", queue, "--ndjson", "--file", fileOf(command, many()), "--url", proxy.url);
  // One batch was stored by the service, which died before it could say so.
  expect([done.jobs, done.duplicates > 0, faults]).toEqual([2_500, true, []]);
  expect(await waiting(service, queue)).toBe(2_500);
});

test("Ctrl-C while lines arrive ends with code 130 and where to go on, and loses no line", async ({ command, service }) => {
  const queue = await service.queue();
  const input = new PassThrough();
  const running = command.runReading(input, "enqueue", queue, "--ndjson");
  // The last line is not whole.
  input.write(many().slice(0, 1_501).join("\n").slice(0, -3));
  await until(async () => (await waiting(service, queue)) === 1_000, "the first batch to be stored");
  process.emit("SIGINT");
  const { code, stderr } = await running;
  expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringMatching(/--resume \S+@1501\ntidemill: Stopped\.\n$/) });
  expect(await waiting(service, queue)).toBe(1_500);

  const [, point = ""] = /--resume (\S+)/.exec(stderr) ?? [];
  await command.output("enqueue", queue, "--ndjson", "--file", fileOf(command, many()), "--resume", point);
  expect(await waiting(service, queue)).toBe(2_500);
});

test.for([
  [["--file", "absent.json"], 'There is no file "absent.json".'],
  [["--file", "."], '"." is a directory.'],
  [["{}", "--file", "."], "Give the payload as an argument or with --file, not both."],
] as const)("a payload that cannot be read: %j", async ([args, says], { command }) => {
  expect(await command.run("enqueue", "emails", ...args)).toEqual({ code: 1, stdout: "", stderr: `tidemill: ${says}\n` });
});
