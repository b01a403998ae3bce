import { describe, expect } from "vitest";
import { approvalQueue, approve, INVALID, reject } from "../harness/approvals.ts";
import { audited } from "../harness/audit-events.ts";
import { joinedBy } from "../harness/nodes.ts";
import { type Service, test } from "../harness/service.ts";

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

describe("has one winner:", () => {
  test("an approval at the same moment as a rejection, on two nodes", async ({ service }) => {
    const other = await joinedBy(service);
    const jobs = await held(service);
    const outcomes = await Promise.all(
      jobs.map((job, index) => {
        const [one, two] = index % 2 ? [service, other] : [other, service];
        return Promise.all([approve(one, job, { by: "one" }), reject(two, job, { by: "two" })]);
      }),
    );
    await other.node.stop();
    for (const [index, [approved, rejected]] of outcomes.entries()) {
      const won = approved.status === 200 ? approved : rejected;
      const lost = won === approved ? rejected : approved;
      expect([won.status, lost.status, lost.body.error]).toMatchObject([200, 409, INVALID(won === approved ? "waiting" : "rejected")]);
      expect(await service.job(jobs[index] as Held)).toMatchObject({ approval: won.body.approval });
    }
    const events = (await audited(service, service.workspaceId, "job")).map(({ resource }) => resource);
    expect(events.sort()).toEqual(jobs.map(({ id }) => id).sort());
  });

  test("the same approval from many", async ({ service }) => {
    const [job] = await held(service);
    const replies = await Promise.all(Array.from({ length: 16 }, (_, by) => approve(service, job as Held, { by: `${by}` })));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(409)]);
    const won = replies.find(({ status }) => status === 200);
    expect(await service.job(job as Held)).toMatchObject({ approval: won?.body.approval });
  });

  test("a decision at the same moment as a cancel: a job is not approved once it was cancelled", async ({ service }) => {
    const jobs = await held(service);
    for (const [index, job] of jobs.entries()) {
      const decide = index % 2 ? approve : reject;
      const [decided, deleted] = await Promise.all([decide(service, job), service.api("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`)]);
      // Approved and then cancelled; rejected and then removed; cancelled; or cancelled just before it was looked at why.
      expect([
        [200, 200, "cancelled"],
        [200, 204, undefined],
        [409, 200, "cancelled"],
      ]).toContainEqual([decided.status, deleted.status, deleted.body?.state]);
      if (decided.status === 409) expect(decided.body.error).toMatchObject(INVALID("cancelled"));
    }
    expect((await service.ok("GET", "/v1/status")).jobs).toMatchObject({ pending_approval: 0, waiting: 0, rejected: 0 });
  });

  test.for(["approve", "reject"] as const)(
    "a decision at the same moment as the timeout, which would %s",
    async (onTimeout, { service }) => {
      const jobs = await held(service, { approval: { timeout: 60, on_timeout: onTimeout } });
      await service.clock.advance(60);
      const [replies] = await Promise.all([
        Promise.all(jobs.map((job, index) => (index % 2 ? approve : reject)(service, job, { by: "somebody" }))),
        service.advance(0),
      ]);
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
