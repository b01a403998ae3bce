import { describe, expect } from "vitest";
import { sql } from "#kernel";
import { approvalQueue, approve, INVALID, reject } from "../harness/approvals.ts";
import type { Reply } from "../harness/ask.ts";
import { audited } from "../harness/audit-events.ts";
import { test, uuidOfJob } from "../harness/engine.ts";
import { inTurn } from "../harness/in-turn.ts";
import { joinedBy } from "../harness/nodes.ts";
import type { Service } from "../harness/service.ts";

const JOBS = 60;

interface Held {
  readonly id: string;
  readonly queue: string;
}

/** Jobs that wait for approval. Every third has no key, and the others share three keys. */
async function held(service: Service, settings: Record<string, unknown> = {}): Promise<Held[]> {
  const queue = await approvalQueue(service, settings);
  const batch = Array.from({ length: JOBS }, (_, payload) => ({ payload, ...(payload % 3 && { concurrencyKey: `k${payload % 9}` }) }));
  return (await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, batch)).jobs;
}

const rowOf = ({ id }: Held) => sql`select from job where id = ${uuidOfJob({ id })} for update`;

describe("decisions at the same moment", () => {
  test("an approval at the same moment as a rejection, on two nodes, has one winner", async ({ service, engine }) => {
    const other = await joinedBy(service);
    const jobs = await held(service);
    const decide = (index: number) => {
      const [one, two] = index % 2 ? [service, other] : [other, service];
      const job = jobs[index] as Held;
      return [() => approve(one, job, { by: "one" }), () => reject(two, job, { by: "two" })] as const;
    };
    const replies: Promise<Reply>[][] = jobs.map(() => []);
    // Of the first two jobs one is approved first and one rejected first. The others meet by chance.
    for (const index of [0, 1]) {
      const steps = decide(index).map((step, side) => () => ((replies[index] as Promise<Reply>[])[side] = step()));
      await inTurn(engine, rowOf(jobs[index] as Held), index === 0 ? steps : steps.toReversed());
    }
    for (let index = 2; index < jobs.length; index += 1) replies[index] = decide(index).map((step) => step());
    const outcomes = await Promise.all(replies.map(async (both) => (await Promise.all(both)) as [Reply, Reply]));
    await other.node.stop();
    expect(new Set(outcomes.map(([approved]) => approved.status))).toEqual(new Set([200, 409]));
    for (const [index, [approved, rejected]] of outcomes.entries()) {
      const won = approved.status === 200 ? approved : rejected;
      const lost = won === approved ? rejected : approved;
      expect([won.status, lost.status, lost.body.error]).toMatchObject([200, 409, INVALID(won === approved ? "waiting" : "rejected")]);
      expect(await service.job(jobs[index] as Held)).toMatchObject({ approval: won.body.approval });
    }
    const events = (await audited(service, service.workspaceId, "job")).map(({ resource }) => resource);
    expect(events.sort()).toEqual(jobs.map(({ id }) => id).sort());
  });

  test("the same approval from many callers has one winner", async ({ service }) => {
    const [job] = await held(service);
    const replies = await Promise.all(Array.from({ length: 16 }, (_, by) => approve(service, job as Held, { by: `${by}` })));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(409)]);
    const won = replies.find(({ status }) => status === 200);
    expect(await service.job(job as Held)).toMatchObject({ approval: won?.body.approval });
  });

  test("a decision at the same moment as a cancel has one winner: a job is not approved once it was cancelled", async ({
    service,
    engine,
  }) => {
    const jobs = await held(service);
    const ends = new Set<string>();
    for (const [index, job] of jobs.entries()) {
      const replies: Promise<Reply>[] = [];
      const decide = () => (replies[0] = (index % 2 ? approve : reject)(service, job));
      const cancel = () => (replies[1] = service.api("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`));
      // The first four jobs are approved and rejected, before and after they are cancelled. The others meet by chance.
      if (index < 4) await inTurn(engine, rowOf(job), index < 2 ? [decide, cancel] : [cancel, decide]);
      else for (const begin of [decide, cancel]) begin();
      const [decided, deleted] = (await Promise.all(replies)) as [Reply, Reply];
      ends.add(`${index % 2 ? "approve" : "reject"} ${decided.status} ${deleted.status}`);
      // Approved and then cancelled; rejected and then removed; cancelled; or cancelled just before it was looked at why.
      expect([
        [200, 200, "cancelled"],
        [200, 204, undefined],
        [409, 200, "cancelled"],
      ]).toContainEqual([decided.status, deleted.status, deleted.body?.state]);
      if (decided.status === 409) expect(decided.body.error).toMatchObject(INVALID("cancelled"));
    }
    expect(ends).toEqual(new Set(["approve 200 200", "reject 200 204", "approve 409 200", "reject 409 200"]));
    expect((await service.ok("GET", "/v1/status")).jobs).toMatchObject({ pending_approval: 0, waiting: 0, rejected: 0 });
  });

  test.for(["approve", "reject"] as const)(
    "a decision at the same moment as the timeout, which would %s, has one winner",
    async (onTimeout, { service, engine }) => {
      const jobs = await held(service, { approval: { timeout: 60, on_timeout: onTimeout } });
      const decide = (index: number) => (index % 2 ? approve : reject)(service, jobs[index] as Held, { by: "somebody" });
      const decisions: Promise<Reply>[] = [];
      // Whoever decides waits to write it down, with the job in hand: somebody has the first job, and the timeout has the second. Before that,
      // the node could see the timeout by itself.
      await inTurn(engine, sql`lock table audit_event in share mode`, [
        () => (decisions[0] = decide(0)),
        () => service.advance(60),
        () => (decisions[1] = decide(1)),
      ]);
      for (let index = 2; index < jobs.length; index += 1) decisions[index] = decide(index);
      const [replies] = await Promise.all([Promise.all(decisions), service.advance(0)]);
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 409]));
      const byTimeout = onTimeout === "approve" ? "waiting" : "rejected";
      for (const [index, { status, body }] of replies.entries()) {
        const { state, approval } = await service.job(jobs[index] as Held);
        if (status === 200) expect([state, approval.by]).toEqual([index % 2 ? "waiting" : "rejected", "somebody"]);
        else expect([body.error, state, approval.by]).toMatchObject([INVALID(byTimeout), byTimeout, null]);
      }
      const events = (await audited(service, service.workspaceId, "job")).map(({ resource }) => resource);
      expect(events.sort()).toEqual(jobs.map(({ id }) => id).sort());
    },
  );
});
