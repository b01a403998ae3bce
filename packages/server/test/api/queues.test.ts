import { describe, expect } from "vitest";
import { makeKey } from "../harness/operator.ts";
import { faultsOf } from "../harness/problem.ts";
import { test, until } from "../harness/service.ts";

const SECRET = /^cbs_[A-Za-z0-9_-]{43}$/;
const NOON = "2026-11-21T12:00:00.000Z";
const URL = "https://example.com/hook";
const PLAIN = {
  type: "standard",
  callback_url: null,
  callback_headers: {},
  callback_timeout: 30,
  has_callback_secret: false,
  defaultJobOptions: { attempts: 3, backoff: { type: "exponential", delay: 1000 } },
  paused: false,
};

describe("creating a queue", () => {
  test("creating a queue takes a name alone, and fills in the defaults", async ({ service }) => {
    const { status, body } = await service.api("POST", "/v1/queues", { name: "plain" });
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ name: "plain", ...PLAIN, created_at: expect.any(String), updated_at: body.created_at }),
    ]);
    expect(body).not.toHaveProperty("callback_secret");
  });

  test("creating a queue with a callback_url makes a secret, which is shown this once", async ({ service }) => {
    const headers = { "X-Team": "billing", "x-empty": "", "X-Latin": "é" };
    const sent = {
      name: "full",
      type: "standard",
      callback_url: URL,
      callback_headers: headers,
      callback_timeout: 900,
      paused: true,
      defaultJobOptions: { attempts: 7, backoff: { type: "exponential", delay: 5 } },
    };
    const { callback_secret, ...created } = await service.ok("POST", "/v1/queues", sent);
    expect(callback_secret).toMatch(SECRET);
    expect(created).toMatchObject({ ...sent, has_callback_secret: true });
    const { metrics, circuit, ...got } = await service.ok("GET", "/v1/queues/full");
    expect(got).toEqual(created);
    expect((await service.ok("GET", "/v1/queues")).data).toEqual([created]);
  });

  test("creating a queue fills in what is left out of defaultJobOptions", async ({ service }) => {
    const { defaultJobOptions } = await service.ok("POST", "/v1/queues", { name: "a", defaultJobOptions: { backoff: { delay: 5 } } });
    expect(defaultJobOptions).toEqual({ attempts: 3, backoff: { type: "exponential", delay: 5 } });
  });

  test("creating a queue whose name exists is a conflict and changes nothing", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "twice", callback_timeout: 5 });
    const before = await service.ok("GET", "/v1/queues");
    const reply = await service.api("POST", "/v1/queues", { name: "twice", callback_timeout: 6 });
    expect([...faultsOf(reply, "CONFLICT"), reply.body.error.details]).toEqual([{ name: "twice" }]);
    expect(await service.ok("GET", "/v1/queues")).toEqual(before);
  });

  test("creating a queue twice at the same moment has one winner", async ({ service }) => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => service.api("POST", "/v1/queues", { name: "raced" })));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 7 }, () => 409)]);
  });

  test("creating a queue tells names apart by case", async ({ service }) => {
    for (const name of ["emails", "Emails", "EMAILS"]) await service.ok("POST", "/v1/queues", { name });
    expect((await service.ok("GET", "/v1/queues")).data).toHaveLength(3);
  });
});

describe("listing queues", () => {
  test("listing queues gives pages, newest first, that stay as they are while queues come and go", async ({ service }) => {
    for (let n = 1; n <= 7; n += 1) await service.ok("POST", "/v1/queues", { name: `q${n}` });
    const first = await service.ok("GET", "/v1/queues?limit=3");
    await service.ok("POST", "/v1/queues", { name: "q8" });
    await service.ok("DELETE", "/v1/queues/q5"); // the last one of the first page
    await service.ok("DELETE", "/v1/queues/q3");
    const second = await service.ok("GET", `/v1/queues?limit=3&cursor=${first.next_cursor}`);
    await service.ok("POST", "/v1/queues", { name: "q9" });
    const names = [first, second].map(({ data }) => data.map(({ name }: { name: string }) => name));
    expect(names).toEqual([
      ["q7", "q6", "q5"],
      ["q4", "q2", "q1"],
    ]);
    expect([first.next_cursor, second.next_cursor]).toEqual([expect.any(String), null]);
    expect(await service.ok("GET", `/v1/queues?limit=3&cursor=${first.next_cursor}`)).toEqual(second);
  });

  test("listing queues gives 50 where no limit is given, at most 100, and no cursor on the last page", async ({ service }) => {
    expect(await service.ok("GET", "/v1/queues")).toEqual({ data: [], next_cursor: null });
    for (let n = 0; n < 51; n += 1) await service.queue();
    const [first, all] = [await service.ok("GET", "/v1/queues"), await service.ok("GET", "/v1/queues?limit=100")];
    expect([first.data.length, all.data.length, all.next_cursor]).toEqual([50, 51, null]);
    const exact = await service.ok("GET", "/v1/queues?limit=51");
    expect([exact.data.length, exact.next_cursor]).toEqual([51, null]);
    const last = await service.ok("GET", `/v1/queues?cursor=${first.next_cursor}`);
    expect([...first.data, ...last.data]).toEqual(all.data);
  });
});

describe("changing a queue", () => {
  test("changing a queue changes what is named and leaves the rest", async ({ service, clock }) => {
    const headers = { a: "1", b: "2" };
    await service.ok("POST", "/v1/queues", {
      name: "q",
      callback_url: URL,
      callback_headers: headers,
      defaultJobOptions: { attempts: 7, backoff: { delay: 5 } },
    });
    const { metrics: _, circuit: __, ...before } = await service.ok("GET", "/v1/queues/q");
    await clock.advance(1);
    const changes: [Record<string, unknown>, Record<string, unknown>][] = [
      [{ paused: true }, { paused: true }],
      [{ callback_timeout: 1 }, { callback_timeout: 1 }],
      [{ defaultJobOptions: { attempts: 9 } }, { defaultJobOptions: { attempts: 9, backoff: { type: "exponential", delay: 5 } } }],
      [
        { defaultJobOptions: { backoff: { delay: 0 } } },
        { defaultJobOptions: { attempts: 9, backoff: { type: "exponential", delay: 0 } } },
      ],
      [{ defaultJobOptions: { backoff: { type: "exponential" } } }, {}],
      [{ defaultJobOptions: {} }, {}],
      [{ callback_headers: { c: "3" } }, { callback_headers: { c: "3" } }],
      [{ callback_headers: {} }, { callback_headers: {} }],
      [{ rate_limit: { max: 5, per_seconds: 10 } }, { rate_limit: { max: 5, per_seconds: 10 } }],
      [{ rate_limit: { max: 7 } }, { rate_limit: { max: 7, per_seconds: 10 } }],
      [{ rate_limit: { per_seconds: 3 } }, { rate_limit: { max: 7, per_seconds: 3 } }],
      [{ rate_limit: null }, { rate_limit: null }],
      [{ callback_url: null }, { callback_url: null }],
      [
        { paused: false, callback_url: `${URL}/2` },
        { paused: false, callback_url: `${URL}/2` },
      ],
      [{}, {}],
    ];
    let expected = { ...before, updated_at: expect.any(String) };
    for (const [sent, changed] of changes) {
      expected = { ...expected, ...changed };
      expect([sent, await service.ok("PATCH", "/v1/queues/q", sent)]).toEqual([sent, expected]);
    }
    const { metrics, circuit, ...after } = await service.ok("GET", "/v1/queues/q");
    expect(after).toEqual(expected);
    expect(Date.parse(after.updated_at) - Date.parse(before.updated_at)).toBe(1_000);
    expect(after.created_at).toBe(before.created_at);
  });

  test("changing one part of the approval settings leaves the other", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "q", type: "approval", approval: { timeout: 60 } });
    const patch = async (approval: object | null) => (await service.ok("PATCH", "/v1/queues/q", { approval })).approval;
    expect(await patch({ on_timeout: "approve" })).toEqual({ timeout: 60, on_timeout: "approve" });
    expect(await patch({ timeout: 90 })).toEqual({ timeout: 90, on_timeout: "approve" });
    expect(await patch({ timeout: null })).toEqual({ timeout: null, on_timeout: "approve" });
    expect(await patch(null)).toEqual({ timeout: null, on_timeout: "reject" });
  });

  test("a queue without a rate limit needs both of its parts", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "q" });
    const sent = { max: 5, per_seconds: 10 };
    for (const [missing, rate_limit] of [["per_seconds", { max: 5 }] as const, ["max", { per_seconds: 10 }] as const]) {
      const reply = await service.api("PATCH", "/v1/queues/q", { rate_limit });
      expect(faultsOf(reply, "VALIDATION_ERROR")).toEqual([]);
      expect(reply.body.error.details.issues).toMatchObject([{ path: `rate_limit.${missing}` }]);
    }
    expect(await service.ok("PATCH", "/v1/queues/q", { rate_limit: sent })).toMatchObject({ rate_limit: sent });
  });

  test("changing a queue changes no name and no type", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "q" });
    for (const sent of [{ name: "other" }, { type: "approval" }, { callback_secret: "mine" }, { created_at: NOON }]) {
      const reply = await service.api("PATCH", "/v1/queues/q", { paused: true, ...sent });
      expect([sent, ...faultsOf(reply, "VALIDATION_ERROR")]).toEqual([sent]);
    }
    expect(await service.ok("GET", "/v1/queues/q")).toMatchObject({ name: "q", paused: false });
  });

  test("changing a queue shows the callback secret only where it is first made or rotated", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "q" });
    const patch = async (sent: Record<string, unknown>) => (await service.ok("PATCH", "/v1/queues/q", sent)).callback_secret;
    expect(await patch({ paused: false })).toBeUndefined();
    const first = await patch({ callback_url: URL });
    expect(first).toMatch(SECRET);
    expect([
      await patch({ callback_url: `${URL}/2` }),
      await patch({ callback_url: null }),
      await patch({ callback_url: URL }),
      await patch({ rotate_callback_secret: false }),
    ]).toEqual(Array(4).fill(undefined));
    const second = await patch({ rotate_callback_secret: true });
    expect(second).toMatch(SECRET);
    const third = await patch({ callback_url: `${URL}/3`, rotate_callback_secret: true });
    expect(third).toMatch(SECRET);
    expect(new Set([first, second, third]).size).toBe(3);
    expect(await patch({})).toBeUndefined();
    const read = [await service.api("GET", "/v1/queues/q"), await service.api("GET", "/v1/queues")].map(({ text }) => text).join();
    expect(read).not.toContain("cbs_");
    expect(read).not.toContain('"callback_secret"');
  });

  test("changing a queue tells whether there is a secret", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "q" });
    const has = async (sent: Record<string, unknown>) => (await service.ok("PATCH", "/v1/queues/q", sent)).has_callback_secret;
    expect([await has({}), await has({ callback_url: URL }), await has({ callback_url: null })]).toEqual([false, true, true]);
  });

  test("a secret rotated before there is an address stays when the address comes", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "q" });
    const made = await service.ok("PATCH", "/v1/queues/q", { rotate_callback_secret: true });
    expect(made).toMatchObject({ callback_url: null, has_callback_secret: true, callback_secret: expect.stringMatching(SECRET) });
    expect(await service.ok("PATCH", "/v1/queues/q", { callback_url: URL })).not.toHaveProperty("callback_secret");
  });

  test("rotating the secret twice at the same moment shows a secret each, of which the queue keeps one", async ({ service, database }) => {
    await service.ok("POST", "/v1/queues", { name: "q", callback_url: URL });
    const shown = await Promise.all([1, 2].map(() => service.ok("PATCH", "/v1/queues/q", { rotate_callback_secret: true })));
    const secrets = shown.map(({ callback_secret }) => callback_secret);
    expect(new Set(secrets).size).toBe(2);
    const [kept] = await database.query<{ callback_secret: string }>("select callback_secret from queue where callback_secret = any($1)", [
      secrets,
    ]);
    expect(secrets).toContain(kept?.callback_secret);
  });
});

describe("deleting a queue", () => {
  test("deleting a queue takes its jobs with it, and its name is free at once", async ({ service }) => {
    const handler = await service.handler({
      answers: ({ body }) => (body.payload === "fail" ? 500 : 200),
      defaultJobOptions: { attempts: 1 },
    });
    const name = handler.queue;
    const payloads = ["complete", "fail", "delay"];
    const { jobs } = await service.ok(
      "POST",
      `/v1/queues/${name}/jobs/batch`,
      payloads.map((payload) => ({ payload, ...(payload === "delay" && { delay: 60 }) })),
    );
    await service.untilState({ id: jobs[0].id, queue: name }, "completed");
    await service.untilState({ id: jobs[1].id, queue: name }, "failed");
    const reply = await service.api("DELETE", `/v1/queues/${name}`);
    expect([reply.status, reply.text, reply.headers.get("content-type")]).toEqual([204, "", null]);
    expect((await service.api("GET", `/v1/queues/${name}`)).status).toBe(404);
    expect(await service.ok("GET", "/v1/dlq")).toEqual({ data: [], next_cursor: null });
    expect(await service.ok("POST", "/v1/dlq/retry", {})).toEqual({ retried: 0 });
    expect((await service.api("POST", `/v1/queues/${name}/jobs`, { payload: 1 })).status).toBe(404);

    expect((await service.api("POST", "/v1/queues", { name })).body).toMatchObject({ name, ...PLAIN });
    expect(await service.ok("GET", `/v1/queues/${name}/jobs`)).toEqual({ data: [], next_cursor: null });
    for (const { id } of jobs) expect((await service.api("GET", `/v1/queues/${name}/jobs/${id}`)).status).toBe(404);
    expect((await service.ok("GET", `/v1/queues/${name}`)).metrics).toMatchObject({ waiting: 0, delayed: 0, completed: 0, failed: 0 });
    const served = handler.received.length;
    await service.advance(61);
    const fresh = await service.enqueue({ queue: name });
    expect((await service.ok("GET", `/v1/queues/${name}/jobs`)).data.map(({ id }: { id: string }) => id)).toEqual([fresh.id]);
    expect(handler.received.length).toBe(served);
  });

  test("deleting a queue twice is 404, as of one that never was", async ({ service }) => {
    const name = await service.queue();
    const replies = await Promise.all(Array.from({ length: 5 }, () => service.api("DELETE", `/v1/queues/${name}`)));
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404]);
  });

  test("deleting a queue leaves no row behind in the end", async ({ service, database, clock }) => {
    const name = await service.queue();
    await service.ok("POST", `/v1/queues/${name}/jobs/batch`, [{ payload: 1 }, { payload: 2 }]);
    await service.ok("DELETE", `/v1/queues/${name}`);
    await clock.advance(61);
    await until(async () => {
      service.node.wake();
      const [left] = await database.query<{ rows: number }>(
        "select (select count(*) from job where lane_id not in (select id from lane))::int + (select count(*) from lane where deleted_at is not null)::int as rows",
      );
      return left?.rows === 0;
    }, "the deleted queue to be swept");
  });
});

test("values of callback_headers are shown to keys that can set them, and hidden from those that only read", async ({ service }) => {
  const name = await service.queue({ callback_headers: { "X-Team": "billing", Authorization: "Bearer ${{ secrets.KEY }}" } });
  const shownTo = async (role: string) => {
    const authorization = `Bearer ${await makeKey(service, { role })}`;
    const one = await service.api("GET", `/v1/queues/${name}`, undefined, { authorization });
    const { body } = await service.api("GET", "/v1/queues", undefined, { authorization });
    const listed = body.data.find((queue: { name: string }) => queue.name === name);
    expect(listed.callback_headers).toEqual(one.body.callback_headers);
    return one.body.callback_headers;
  };
  const all = { "X-Team": "billing", Authorization: "Bearer ${{ secrets.KEY }}" };
  expect([await shownTo("admin"), await shownTo("write")]).toEqual([all, all]);
  expect(await shownTo("read")).toEqual({ "X-Team": "[hidden]", Authorization: "[hidden]" });
});
