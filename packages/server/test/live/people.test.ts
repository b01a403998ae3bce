import { expect } from "vitest";
import { sql, uuidOf } from "#kernel";
import { test } from "../harness/engine.ts";
import { limitedTo } from "../harness/limits.ts";
import { hold, isWaiting } from "../harness/locks.ts";
import { newPerson, PASSWORD, type TestPerson } from "../harness/people.ts";
import { startTestNode, until } from "../harness/service.ts";

/** Opens the stream of a person. Resolves with what tells whether it has ended. */
async function follow(url: string, workspaceId: string, { cookie }: TestPerson): Promise<{ status: number; hasEnded: () => boolean }> {
  const response = await fetch(`${url}/dashboard/api/${workspaceId}/v1/live`, { headers: { cookie } });
  let ended = false;
  void response.text().finally(() => {
    ended = true;
  });
  return { status: response.status, hasEnded: () => ended };
}

test("a person's streams end on all nodes when they are removed, get another role, sign out or get a new password, and others' go on", async ({
  service,
  database,
  clock,
}) => {
  const other = await startTestNode(database, clock);
  try {
    const ws = service.workspaceId;
    const admin = await newPerson(service);
    const people = [
      await newPerson(service, { role: "read" }),
      await newPerson(service, { role: "read" }),
      await newPerson(service),
      await newPerson(service),
      // Who belong to no workspace.
      await newPerson(service, { role: null, operator: true }),
      await newPerson(service, { role: null, operator: true }),
    ] as const;
    const nodes = [service.node.url, other.url];
    const streamsOf = (person: TestPerson) => Promise.all(nodes.map((url) => follow(url, ws, person)));
    const operator = await newPerson(service, { role: null, operator: true });
    const kept = [...(await streamsOf(admin)), ...(await streamsOf(operator))];
    const streams = await Promise.all(people.map(streamsOf));
    const [removed, left, changed, demoted, signedOut, replaced] = streams;
    expect([kept, ...streams].flatMap((some) => some.map(({ status }) => status))).toEqual(Array(16).fill(200));

    const endsBoth = (streams: typeof kept = []) => until(async () => streams.every(({ hasEnded }) => hasEnded()));
    expect((await admin.api(ws, "DELETE", `/v1/members/${people[0].id}`)).status).toBe(204);
    await endsBoth(removed);
    expect((await people[1].auth("POST", "sign-out")).status).toBe(204);
    await endsBoth(left);
    const passwords = { password: PASSWORD, new_password: "another long password" };
    expect((await people[2].auth("POST", "password", passwords)).status).toBe(204);
    await endsBoth(changed);
    expect((await admin.api(ws, "PATCH", `/v1/members/${people[3].id}`, { role: "read" })).status).toBe(200);
    await endsBoth(demoted);
    expect((await people[4].auth("POST", "sign-out")).status).toBe(204);
    await endsBoth(signedOut);
    // Another person signs in with the same browser.
    expect((await people[5].auth("POST", "sign-in", { email: admin.email, password: PASSWORD })).status).toBe(204);
    await endsBoth(replaced);
    expect((await operator.api(ws, "GET", "/v1/queues")).status).toBe(200);
    expect(kept.map(({ hasEnded }) => hasEnded())).toEqual([false, false, false, false]);
  } finally {
    await other.stop();
  }
});

// After its authentication, a request waits for the rate limit of its workspace. Meanwhile its person's session ends.
test.for(["live", "events of a run"])(
  "a stream ends that its person may no longer read when it opens: %s",
  async (which, { service: unlimited, engine, database }) => {
    const service = await limitedTo(unlimited, { requests_per_minute: 1_000 });
    await service.ok("PUT", "/v1/workflows/long", {});
    const { runIds } = await service.ok("POST", "/v1/workflows/long/trigger", {});
    const person = await newPerson(service, { role: "read" });
    const path = which === "live" ? "live" : `runs/${runIds[0]}/events`;
    const rates = hold(engine, sql`lock table request_rate in access exclusive mode`);
    await rates.held;
    try {
      const opened = fetch(`${service.node.url}/dashboard/api/${service.workspaceId}/v1/${path}`, { headers: { cookie: person.cookie } });
      await until(() => isWaiting(database, "take_requests"));
      // As another node does, whose message comes before the stream opens.
      await database.query("delete from session where person_id = $1", [uuidOf("usr", person.id)]);
      await rates.release();
      const response = await opened;
      expect(response.status).toBe(200);
      // At a heartbeat, it would end anyway.
      expect(await response.text()).not.toContain("heartbeat");
    } finally {
      await rates.release();
    }
  },
);
