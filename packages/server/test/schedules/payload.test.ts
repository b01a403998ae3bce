import { describe, expect } from "vitest";
import { faultsOf } from "../harness/problem.ts";
import { test } from "../harness/schedules.ts";
import type { Service } from "../harness/service.ts";

const MEBIBYTE = 1024 * 1024;

/** JSON texts that change when they are parsed and written again. */
const DELICATE = [
  "12345678901234567890",
  "1e400",
  "-0",
  "[1.0, 1.50, 1E5]",
  '{ "b":1,\t"10":2, "a":1,"a":2 }',
  String.raw`"\u0041\/\ud83d\ude00 \u0000 \ud800"`,
  '"é€😀\u2028"',
  '{"__proto__":{"a":1},"payload":1,"jobs":[{"payload":2}]}',
  `{"a":"'; drop table schedule; --","b":"$1"}`,
  '"${a} {{a}} $&"',
  "null",
];

const create = (service: Service, queue: string, payload: string, name = "s") =>
  service.api("POST", "/v1/schedules", `{"name":"${name}","queue":"${queue}","cron":"* * * * *","timezone":"UTC","payload" : ${payload} }`);

/** Whether a response's only record has this payload, followed by the field that is documented after it. */
const holds = (text: string, payload: string): boolean => text.split(`"payload":${payload},"tag":`).length === 2;

describe("a schedule's payload comes back as it was sent, to the byte:", () => {
  test.for(DELICATE)("a schedule's payload comes back as it was sent, to the byte: %s", async (payload, { service, at: _ }) => {
    const handler = await service.handler();
    const replies = [
      await create(service, handler.queue, payload),
      await service.api("GET", "/v1/schedules/s"),
      await service.api("GET", "/v1/schedules"),
      await service.api("PATCH", "/v1/schedules/s/pause"),
      await service.api("PATCH", "/v1/schedules/s", `{"priority":1,"payload":\n${payload}\n}`),
      await service.api("PATCH", "/v1/schedules/s", { tag: null }),
      await service.api("PATCH", "/v1/schedules/s/resume"),
      await service.api("POST", "/v1/schedules/s/trigger"),
    ];
    expect(replies.map(({ status, text }) => [status, holds(text, payload)])).toEqual(
      [201, 200, 200, 200, 200, 200, 200, 201].map((one) => [one, true]),
    );
    await service.advance(60);
    await service.untilIdle();
    expect(handler.received.map(({ raw }) => raw.endsWith(`,"payload":${payload}}`))).toEqual([true, true]);
  });
});

describe("a schedule's payload", () => {
  test("a schedule's payload may have a megabyte, and no byte more", async ({ service }) => {
    const queue = await service.queue();
    const most = `"${"x".repeat(MEBIBYTE - 2)}"`;
    expect((await create(service, queue, most)).status).toBe(201);
    const made = await service.api("GET", "/v1/schedules/s");
    const more = `"${"x".repeat(MEBIBYTE - 3)}é"`;
    for (const reply of [await create(service, queue, more, "t"), await service.api("PATCH", "/v1/schedules/s", `{"payload":${more}}`)])
      expect([...faultsOf(reply, "PAYLOAD_TOO_LARGE"), reply.body.error.details]).toEqual([{ limit_bytes: MEBIBYTE, path: "payload" }]);
    expect((await service.api("GET", "/v1/schedules/s")).text).toBe(made.text);
  });

  test("a schedule's payload is null where none was sent, and becomes null where null is", async ({ service }) => {
    const queue = await service.queue();
    const made = await service.ok("POST", "/v1/schedules", { queue, cron: "@daily", timezone: "UTC" });
    expect(made.payload).toBeNull();
    const path = `/v1/schedules/${made.name}`;
    expect(await service.ok("PATCH", path, { payload: [1] })).toMatchObject({ payload: [1] });
    expect(await service.ok("PATCH", path, { tag: "t" })).toMatchObject({ payload: [1] });
    expect(await service.ok("PATCH", path, { payload: null })).toMatchObject({ payload: null });
  });

  test("a schedule's payload is checked for templates when it is stored", async ({ service }) => {
    const queue = await service.queue();
    expect((await create(service, queue, '{"key":"${{ secrets.API_KEY }}"}')).status).toBe(201);
    const spoilt = '{"a":[{"b":"${{ nope.API_KEY }}"}]}';
    for (const reply of [await create(service, queue, spoilt, "t"), await service.api("PATCH", "/v1/schedules/s", `{"payload":${spoilt}}`)])
      expect([...faultsOf(reply, "VALIDATION_ERROR"), reply.body.error.details.issues]).toMatchObject([[{ path: "payload.a[0].b" }]]);
  });
});
