import { describe, expect } from "vitest";
import { Client } from "../../server/test/harness/client.ts";
import { type Stage, test } from "../../server/test/harness/stage.ts";
import { output, readRows } from "./output.ts";

/** A paused queue with two jobs, on a database with a node, and a function that explains them. */
async function pausedQueue(stage: Stage) {
  const { url } = await stage.database();
  const settings = { DATABASE_URL: url };
  const node = await stage.node(settings);
  const { id, key } = JSON.parse(await output(stage, ["workspace", "create", "Acme", "--plan", "pro", "--json"], settings));
  const acme = new Client(node.url, key);
  await acme.ok("POST", "/v1/queues", { name: "emails", callback_url: "http://127.0.0.1:9/", paused: true });
  const { jobs } = await acme.ok("POST", "/v1/queues/emails/jobs/batch", [{ payload: 1 }, { payload: 2 }]);
  const explain = (...args: string[]) => output(stage, ["explain", ...args], settings);
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await stage.run(["explain", ...args], settings);
    return [code, stdout, stderr];
  };
  return { node, id, acme, job: jobs[1].id as string, explain, refused };
}

describe("tidemill explain", () => {
  test("tidemill explain says why a job is not running, gate by gate", async ({ stage }) => {
    const { id, acme, job, explain } = await pausedQueue(stage);
    const [summary, standing, gates, next] = (await explain(id, "emails", job)).split("\n\n");
    expect(summary).toBe("Not running: the queue is paused.");
    expect(readRows(standing ?? "")).toEqual([{ STATE: "waiting", AHEAD: "1", ESTIMATED_START: "unknown" }]);
    const rows = readRows(gates ?? "");
    expect(rows).toHaveLength(13);
    expect(rows.filter(({ HOLDS }) => HOLDS !== "")).toEqual([{ GATE: "queue_paused", HOLDS: "yes", MESSAGE: "The queue is paused." }]);
    expect(next).toBe(`To resume the queue: tidemill queue resume emails (with a key of ${id})\n`);
    const shares = { gate: "workspace_share", message: "Only nodes know what the workspace uses of them." };
    const { gates: ofNode, ...explained } = await acme.ok("GET", `/v1/queues/emails/jobs/${job}/explain`);
    // The node renews its lease meanwhile.
    const nodes = { gate: "nodes", figures: { alive: 1, last_seen_at: expect.any(String) } };
    const differs = (one: { gate: string }) => [shares, nodes].find(({ gate }) => gate === one.gate);
    expect(JSON.parse(await explain(id, "emails", job, "--json"))).toEqual({
      ...explained,
      gates: ofNode.map((one: { gate: string }) => ({ ...one, ...differs(one) })),
    });
  });

  test("tidemill explain says that no node is alive, when the last one was seen, and what starts one", async ({ stage }) => {
    const { node, id, job, explain } = await pausedQueue(stage);
    node.signal("SIGTERM");
    await node.end();
    const text = await explain(id, "emails", job);
    expect(text).toMatch(
      /^Not running: no node is alive and the last one renewed its lease (just now|\d+ s ago), and the queue is paused\.\n/,
    );
    expect(text.endsWith(`\nTo start a node: tidemill up\nTo resume the queue: tidemill queue resume emails (with a key of ${id})\n`)).toBe(
      true,
    );
  });

  test("tidemill explain says what it does not find", async ({ stage }) => {
    const { id, acme, job, refused } = await pausedQueue(stage);
    expect(await refused(id, "absent", job)).toEqual([1, "", 'tidemill: There is no queue "absent".\n']);
    expect(await refused(id, "email", job)).toEqual([1, "", 'tidemill: There is no queue "email". Did you mean "emails"?\n']);
    const nobody = "ws_01m7zf6kffe00a0a7enfysbfm9";
    expect(await refused(nobody, "emails", job)).toEqual([1, "", `tidemill: There is no workspace "${nobody}".\n`]);
    expect(await refused(id, "emails", "job_x")).toEqual([1, "", 'tidemill: "job_x" is not the id of a job.\n']);
    await acme.ok("POST", "/v1/queues", { name: "other" });
    expect(await refused(id, "other", job)).toEqual([1, "", `tidemill: There is no job "${job}" in the queue "other".\n`]);
  });
});
