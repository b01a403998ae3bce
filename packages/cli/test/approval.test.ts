import { describe, expect } from "vitest";
import { Client } from "../../server/test/harness/client.ts";
import { until } from "../../server/test/harness/service.ts";
import { type Stage, test } from "../../server/test/harness/stage.ts";
import { output, readRows, readTable } from "./output.ts";

interface Held {
  readonly id: string;
  readonly queue: string;
}

/** A workspace with the approval queues "payouts" and "mails", on a database and beside a node; what puts jobs there, and runs commands. */
async function workspaceOf(stage: Stage) {
  const { url } = await stage.database();
  const settings = { DATABASE_URL: url };
  const node = await stage.node(settings);
  const { id, key } = JSON.parse(await output(stage, ["workspace", "create", "Acme", "--plan", "pro", "--json"], settings));
  const acme = new Client(node.url, key);
  for (const name of ["payouts", "mails"]) await acme.ok("POST", "/v1/queues", { name, type: "approval" });
  const hold = (queue: string, job: object = {}): Promise<Held> => acme.ok("POST", `/v1/queues/${queue}/jobs`, { payload: {}, ...job });
  const run = (verb: string, ...args: string[]) => output(stage, ["approval", verb, id, ...args], settings);
  const refused = async (verb: string, ...args: string[]) => {
    const { code, stdout, stderr } = await stage.run(["approval", verb, ...args], settings);
    return [code, stdout, stderr];
  };
  return { id, acme, hold, run, refused, jobOf: ({ queue, id: job }: Held) => acme.ok("GET", `/v1/queues/${queue}/jobs/${job}`) };
}

describe("tidemill approval", () => {
  test("tidemill approval list shows what waits to be decided, newest first, as many as are asked for, and for all queues or for some", async ({
    stage,
  }) => {
    const { hold, run } = await workspaceOf(stage);
    const first = await hold("payouts", { tag: "t", priority: 3 });
    const second = await hold("mails");
    const rows = readRows(await run("list"));
    expect(rows).toMatchObject([
      { ID: second.id, QUEUE: "mails", TAG: "" },
      { ID: first.id, QUEUE: "payouts", TAG: "t", PRIORITY: "3" },
    ]);
    expect(JSON.parse(await run("list", "--queue", "payouts", "--json"))).toEqual([first]);
    expect(JSON.parse(await run("list", "--tag", "t", "--queue", "payouts,mails", "--json"))).toEqual([first]);
    expect(JSON.parse(await run("list", "--limit", "1", "--json"))).toEqual([second]);
  });

  test("tidemill approval approves a job, which is delivered, and rejects another, in the operator's name", async ({ stage }) => {
    const { acme, hold, run, jobOf } = await workspaceOf(stage);
    const handler = await stage.handler();
    await acme.ok("PATCH", "/v1/queues/payouts", { callback_url: handler.url });
    const [one, two] = [await hold("payouts"), await hold("payouts")];
    const approved = await run("approve", "payouts", one.id, "--by", "ada@example.com", "--comment", "The amount is right.");
    expect(readTable(approved)).toMatchObject({ ID: one.id, QUEUE: "payouts", STATE: "waiting", BY: "ada@example.com" });
    await until(async () => (await jobOf(one)).state === "completed", "the job to be delivered");
    expect(await jobOf(one)).toMatchObject({ approval: { decision: "approved", by: "ada@example.com", comment: "The amount is right." } });

    const rejected = JSON.parse(await run("reject", "payouts", two.id, "--reason", "Paid.", "--json"));
    expect(await jobOf(two)).toEqual({ ...rejected, attempts_log: [] });
    expect(rejected).toMatchObject({ state: "rejected", approval: { decision: "rejected", by: null, comment: "Paid." } });
    const { data } = await acme.ok("GET", "/v1/audit-events?resource_type=job");
    expect(data).toMatchObject([
      { event_type: "job.rejected", actor_id: "operator", resource_id: two.id },
      { event_type: "job.approved", actor_id: "operator", resource_id: one.id },
    ]);
  });

  test("tidemill approval says in a line what is wrong, and changes nothing", async ({ stage }) => {
    const { id, hold, run, refused, jobOf } = await workspaceOf(stage);
    const [one, other] = [await hold("payouts"), await hold("payouts")];
    await run("approve", "payouts", one.id);
    const absent = "ws_01kajv3k4ve6nsd9z5kgtzx0rw";
    const asked: [says: string, ...command: [string, ...string[]]][] = [
      ["The job does not wait for a decision: its state is waiting.", "reject", id, "payouts", one.id],
      [`There is no job "${other.id}" in the queue "mails".`, "approve", id, "mails", other.id],
      ['There is no queue "absent".', "approve", id, "absent", other.id],
      ['"nope" is not the id of a job.', "approve", id, "payouts", "nope"],
      [
        "A rejection has a --by of 1 to 256 characters, and a comment or reason of at most 4096.",
        "reject",
        id,
        "payouts",
        other.id,
        "--by",
        "",
      ],
      [`There is no workspace "${absent}".`, "list", absent],
    ];
    const answers = await Promise.all(asked.map(([, ...command]) => refused(...command)));
    expect(answers).toEqual(asked.map(([says]) => [1, "", `tidemill: ${says}\n`]));
    expect(await jobOf(other)).toMatchObject({ state: "pending_approval" });
  });
});
