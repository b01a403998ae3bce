import { describe, expect } from "vitest";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { type Service, test } from "../harness/service.ts";

const NOON = "2026-11-21T12:00:00.000Z";
const DAILY = { cron: "30 2 * * *", timezone: "Europe/Berlin" };

const create = (service: Service, body: Record<string, unknown>) => service.api("POST", "/v1/schedules", { ...DAILY, ...body });
const namesOf = async (service: Service): Promise<string[]> =>
  (await service.ok("GET", "/v1/schedules?limit=100")).data.map(({ name }: { name: string }) => name);

describe("creating a schedule", () => {
  test("creating a schedule takes queue, cron and time zone alone, and fills in the rest", async ({ service }) => {
    const queue = await service.queue();
    const { status, body } = await create(service, { queue });
    const made = {
      name: queue,
      queue,
      ...DAILY,
      payload: null,
      tag: null,
      priority: 0,
      concurrencyKey: null,
      attempts: null,
      overlap: "allow",
      catch_up: "last",
      state: "active",
      next_run_at: "2026-11-22T01:30:00.000Z",
      last_run_at: null,
      last_job_id: null,
      last_skip: null,
      created_at: NOON,
      updated_at: NOON,
    };
    expect([status, body]).toEqual([201, made]);
    expect(Object.keys(body)).toEqual(Object.keys(made));
    expect(await service.ok("GET", `/v1/schedules/${queue}`)).toEqual(made);
    expect(await service.ok("GET", "/v1/schedules")).toEqual({ data: [made], next_cursor: null });
  });

  test("creating a schedule keeps all that is said of it", async ({ service }) => {
    const queue = await service.queue();
    const settings = { name: "Nightly.report_1-x", payload: { report: "daily" }, tag: "reports", priority: -7, concurrencyKey: "ü" };
    const more = { attempts: 100, overlap: "skip", catch_up: "all", cron: "*/5 * * * * *", timezone: "Asia/Kathmandu" };
    expect((await create(service, { queue, ...settings, ...more })).body).toMatchObject({ queue, ...settings, ...more });
  });

  test("creating a schedule takes null for what a schedule need not have", async ({ service }) => {
    const nulls = { tag: null, concurrencyKey: null, attempts: null, payload: null };
    expect((await create(service, { queue: await service.queue(), ...nulls })).body).toMatchObject(nulls);
  });

  test.for([
    ["0 12 * * *", "UTC", "2026-11-22T12:00:00.000Z"],
    ["* * * * * *", "UTC", "2026-11-21T12:00:01.000Z"],
    ["@hourly", "Asia/Kathmandu", "2026-11-21T12:15:00.000Z"],
    ["@daily", "America/New_York", "2026-11-22T05:00:00.000Z"],
    ["@weekly", "UTC", "2026-11-22T00:00:00.000Z"],
    ["@monthly", "Pacific/Apia", "2026-11-30T11:00:00.000Z"],
    ["@yearly", "UTC", "2027-01-01T00:00:00.000Z"],
    ["0 0 29 2 *", "UTC", "2028-02-29T00:00:00.000Z"],
  ])("a schedule of %s in %s is due at the first such moment after now", async ([cron, timezone, next_run_at], { service }) => {
    expect((await create(service, { queue: await service.queue(), cron, timezone })).body).toMatchObject({ cron, timezone, next_run_at });
  });

  test.for([
    [{ cron: "30 2 30 2 *" }, "cron", "never fires"],
    [{ cron: "61 * * * *" }, "cron", "minute"],
    [{ cron: "* * *" }, "cron", "5"],
    [{ cron: "@reboot" }, "cron", "@daily"],
    [{ timezone: "Europe/Atlantis" }, "timezone", "IANA"],
    [{ timezone: "+01:00" }, "timezone", "IANA"],
    [{ timezone: undefined }, "timezone", "is required"],
  ] as const)("creating a schedule with %j is refused with what is wrong", async ([spoilt, path, says], { service }) => {
    const queue = await service.queue();
    const before = await everythingStored(service.database);
    const reply = await create(service, { queue, ...spoilt });
    expect([...faultsOf(reply, "VALIDATION_ERROR"), reply.body.error.details.issues]).toEqual([
      [{ path, message: expect.stringContaining(says) }],
    ]);
    expect(await everythingStored(service.database)).toEqual(before);
  });

  test("creating a schedule for a queue that does not exist names the queue", async ({ service }) => {
    const reply = await create(service, { queue: "nowhere" });
    expect([...faultsOf(reply, "NOT_FOUND"), reply.body.error.message]).toEqual(['There is no queue "nowhere".']);
    expect(await namesOf(service)).toEqual([]);
  });

  test("creating a schedule whose name exists is a conflict, and changes nothing", async ({ service }) => {
    const queue = await service.queue();
    await create(service, { queue, name: "twice", tag: "first" });
    const before = await everythingStored(service.database);
    const reply = await create(service, { queue, name: "twice", tag: "second" });
    expect([...faultsOf(reply, "CONFLICT"), reply.body.error.details]).toEqual([{ name: "twice" }]);
    expect(await everythingStored(service.database)).toEqual(before);
  });

  test("a schedule cannot be called preview, which is a route", async ({ service }) => {
    expect(faultsOf(await create(service, { queue: await service.queue(), name: "preview" }), "VALIDATION_ERROR")).toEqual([]);
    expect((await create(service, { queue: await service.queue(), name: "previews" })).status).toBe(201);
  });
});

describe("a schedule without a name", () => {
  test("a schedule without a name has its queue's, and then the first number that is free", async ({ service }) => {
    const queue = await service.queue();
    for (let made = 0; made < 4; made += 1) await create(service, { queue });
    await service.ok("DELETE", `/v1/schedules/${queue}-2`);
    await create(service, { queue });
    expect(await namesOf(service)).toEqual([`${queue}-2`, `${queue}-4`, `${queue}-3`, queue]);
  });

  test("a schedule without a name ends by chance once the numbers up to 9 are taken", async ({ service }) => {
    const queue = await service.queue();
    for (let made = 0; made < 11; made += 1) await create(service, { queue });
    const [eleventh, tenth, ...numbered] = await namesOf(service);
    expect(numbered).toEqual([...[9, 8, 7, 6, 5, 4, 3, 2].map((n) => `${queue}-${n}`), queue]);
    expect([eleventh, tenth]).toEqual([1, 2].map(() => expect.stringMatching(new RegExp(`^${queue}-[0-9a-f]{8}$`))));
    expect(eleventh).not.toBe(tenth);
  });

  test("a schedule without a name keeps out of the way of those that were named", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "a" });
    await service.ok("POST", "/v1/queues", { name: "a-2" });
    for (const body of [{ queue: "a" }, { queue: "a-2" }, { queue: "a" }, { queue: "a-2" }]) await create(service, body);
    expect(await namesOf(service)).toEqual(["a-2-2", "a-3", "a-2", "a"]);
  });

  test("a schedule without a name for a queue that is called preview begins with the number", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "preview" });
    for (let made = 0; made < 2; made += 1) await create(service, { queue: "preview" });
    expect(await namesOf(service)).toEqual(["preview-3", "preview-2"]);
  });

  test("a schedule without a name for a queue with the longest name is cut", async ({ service }) => {
    const [long, numbered] = ["x".repeat(128), `${"y".repeat(126)}-2`];
    for (const name of [long, numbered]) {
      await service.ok("POST", "/v1/queues", { name });
      for (let made = 0; made < 2; made += 1) expect((await create(service, { queue: name })).status).toBe(201);
    }
    expect(await namesOf(service)).toEqual([`${"y".repeat(126)}-3`, numbered, `${"x".repeat(126)}-2`, long]);
  });
});

describe("created at the same moment", () => {
  test("32 schedules of one name have one winner", async ({ service }) => {
    const queue = await service.queue();
    const replies = await Promise.all(Array.from({ length: 32 }, () => create(service, { queue, name: "raced" })));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 31 }, () => 409)]);
    expect(await namesOf(service)).toEqual(["raced"]);
  });

  test("16 schedules without a name have 16 names", async ({ service }) => {
    const queue = await service.queue();
    const replies = await Promise.all(Array.from({ length: 16 }, () => create(service, { queue })));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 201));
    const names = await namesOf(service);
    expect(new Set(names)).toHaveLength(16);
    for (const name of names) expect(name).toMatch(new RegExp(`^${queue}(-[0-9a-f]{1,8})?$`));
  });
});

describe("the list of schedules", () => {
  test("the list of schedules comes newest first, in pages that schedules which come and go do not shift", async ({ service }) => {
    const queue = await service.queue();
    for (let n = 1; n <= 7; n += 1) await create(service, { queue, name: `s${n}` });
    const first = await service.ok("GET", "/v1/schedules?limit=3");
    await create(service, { queue, name: "s8" });
    await service.ok("DELETE", "/v1/schedules/s5"); // the last one of the first page
    await service.ok("DELETE", "/v1/schedules/s3");
    const second = await service.ok("GET", `/v1/schedules?limit=3&cursor=${first.next_cursor}`);
    const names = [first, second].map(({ data }) => data.map(({ name }: { name: string }) => name));
    expect(names).toEqual([
      ["s7", "s6", "s5"],
      ["s4", "s2", "s1"],
    ]);
    expect([first.next_cursor, second.next_cursor]).toEqual([expect.any(String), null]);
  });

  test("the list of schedules is filtered by queues and states", async ({ service }) => {
    const [one, other] = [await service.queue(), await service.queue()];
    for (const [name, queue] of [
      ["a", one],
      ["b", one],
      ["c", other],
      ["d", other],
    ])
      await create(service, { queue, name });
    for (const name of ["b", "c"]) await service.ok("PATCH", `/v1/schedules/${name}/pause`);
    const of = async (query: string) =>
      (await service.ok("GET", `/v1/schedules?${query}`)).data.map(({ name }: { name: string }) => name).join("");
    expect(await of("")).toBe("dcba");
    expect(await of(`queue=${one}`)).toBe("ba");
    expect(await of(`queue=${one},${other}`)).toBe("dcba");
    expect(await of(`queue=${one}&queue=${other}`)).toBe("dcba");
    expect(await of("queue=absent")).toBe("");
    expect(await of("state=active")).toBe("da");
    expect(await of("state=paused")).toBe("cb");
    expect(await of("state=active,paused")).toBe("dcba");
    expect(await of("state=paused,paused")).toBe("cb");
    expect(await of(`queue=${one}&state=paused`)).toBe("b");
    const page = await service.ok("GET", `/v1/schedules?queue=${one},${other}&limit=2`);
    expect(await of(`queue=${one},${other}&limit=2&cursor=${page.next_cursor}`)).toBe("ba");
    const paused = await service.ok("GET", "/v1/schedules?state=paused&limit=1");
    expect(await of(`state=paused&cursor=${paused.next_cursor}`)).toBe("b");
  });
});
