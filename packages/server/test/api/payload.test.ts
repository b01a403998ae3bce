import fc from "fast-check";
import { describe, expect } from "vitest";
import { anyCharacter } from "../harness/any-character.ts";
import { type Service, test } from "../harness/service.ts";

const MEBIBYTE = 1024 * 1024;
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

/** JSON texts that change when they are parsed and written again, or that look like something else to other code. */
const DELICATE: Record<string, string> = {
  "an integer beyond doubles": "12345678901234567890",
  "an integer of 400 digits": "9".repeat(400),
  "a number beyond doubles": "1e400",
  "a number below doubles": "1e-400",
  "a fraction of many digits": "0.1000000000000000055511151231257827021181583404541015625",
  "negative zero": "-0",
  "a number's own spelling": "[1.0, 1.50, 1E5, 1e+05, 100000]",
  null: "null",
  true: "true",
  "an empty text": '""',
  "an empty object": "{}",
  "an empty array": "[]",
  "keys that look like integers": '{"b":1,"10":2,"9":3,"a":4,"-1":5,"01":6}',
  "a key given twice": '{"a":1,"a":2,"b":{"c":1,"c":{}}}',
  "white space": '{ "a" :\t[ 1 ,\r\n 2 ] , "b" : { } }',
  "escapes that need not be": String.raw`"\u0041\/\u00e9\ud83d\ude00\b\f\n\r\t\"\\"`,
  "characters as they are": '"é€😀\u2028\u2029\u007f\u0080\ufeff\uffff"',
  "NUL, escaped": String.raw`{"a\u0000b":"\u0000"}`,
  "lone surrogates, escaped": String.raw`["\ud800", "\udc00\ud800", "\uDBFF"]`,
  "the replacement character": '"\ufffd"',
  "keys that poison prototypes": '{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}},"toString":null,"hasOwnProperty":1}',
  "keys of the envelope": '{"payload":{"payload":1},"jobs":[{"payload":2}],"tag":7,"id":"x","state":"failed"}',
  SQL: `{"a":"'; drop table job; --","b":"$1","c":"\\\\' || pg_sleep(10) --","d":"{}","e":"{\\"a\\",NULL}"}`,
  templates: '["${a}", "{{a}}", "<%= a %>", "%s %d %1$s", "#{a}", "$(a)", "`a`", "$&$`$1"]',
  markup: `"<script>alert('x')</script>&amp;<!-- ]]>"`,
  "what ends a text in our own JSON": '"\\"},\\"state\\":\\"failed\\",\\"x\\":{\\""',
  "64 deep": nested(64),
  "64 deep in objects": `${'{"a":'.repeat(63)}{}${"}".repeat(63)}`,
};

/** The number of a response's records that hold the payload as this text. `payload` is followed by `tag`, as documented. */
const payloadsIn = (text: string, payload: string): number => text.split(`"payload":${payload},"tag":`).length - 1;

describe("a payload on its way", () => {
  test.for(Object.entries(DELICATE))("a payload comes back as it was sent, to the byte: %s", async ([, payload], { service }) => {
    const handler = await service.handler();
    const path = `/v1/queues/${handler.queue}/jobs`;
    const sent = await service.api("POST", path, `{"payload" : ${payload} }`);
    const batch = await service.api("POST", `${path}/batch`, `[{"payload":${payload}},{"tag":"t", "payload":\n${payload}\n}]`);
    expect([sent.status, payloadsIn(sent.text, payload), batch.status, payloadsIn(batch.text, payload)]).toEqual([201, 1, 201, 2]);
    await service.untilIdle();
    const got = await service.api("GET", `${path}/${sent.body.id}`);
    const listed = await service.api("GET", path);
    expect([payloadsIn(got.text, payload), payloadsIn(listed.text, payload)]).toEqual([1, 3]);
    const callbacks = handler.received.map(({ raw }) => raw.endsWith(`,"payload":${payload}}`));
    expect(callbacks).toEqual([true, true, true]);
  });

  test("a payload comes back to the byte through a failure, the dead-letter queue, a retry by hand, and cancelling", async ({
    service,
  }) => {
    const { "64 deep": _, "64 deep in objects": __, ...shallow } = DELICATE;
    const payload = `[${Object.values(shallow).join(" , ")}]`;
    const handler = await service.handler({ answers: [500, 200] });
    const { body: job } = await service.api("POST", `/v1/queues/${handler.queue}/jobs`, `{"attempts":1,"payload":${payload}}`);
    await service.untilIdle();
    const dead = await service.api("GET", "/v1/dlq");
    const retried = await service.api("POST", `/v1/queues/${handler.queue}/jobs/${job.id}/retry`);
    expect([payloadsIn(dead.text, payload), payloadsIn(retried.text, payload)]).toEqual([1, 1]);
    await service.untilState(job, "completed");
    expect(handler.received.map(({ raw }) => raw.endsWith(`,"payload":${payload}}`))).toEqual([true, true]);

    const queue = await service.queue();
    const { body: other } = await service.api("POST", `/v1/queues/${queue}/jobs`, `{"payload":${payload}}`);
    const cancelled = await service.api("DELETE", `/v1/queues/${queue}/jobs/${other.id}`);
    const back = await service.api("POST", `/v1/queues/${queue}/jobs/${other.id}/retry`);
    expect([cancelled.body.state, back.body.state]).toEqual(["cancelled", "waiting"]);
    expect([payloadsIn(cancelled.text, payload), payloadsIn(back.text, payload)]).toEqual([1, 1]);
  });
});

describe("the limits of a payload", () => {
  test.for([
    ["one text", `"${"x".repeat(MEBIBYTE - 2)}"`],
    ["characters of several bytes", `"${"é".repeat(MEBIBYTE / 2 - 1)}"`],
    ["white space inside", `[${" ".repeat(MEBIBYTE - 2)}]`],
    ["many numbers", `[${"1,".repeat(MEBIBYTE / 2 - 2)}12]`],
  ] as const)("a payload of exactly 1 MiB is taken and delivered: %s", async ([, payload], { service }) => {
    expect(Buffer.byteLength(payload)).toBe(MEBIBYTE);
    const handler = await service.handler();
    const { status, body } = await service.api("POST", `/v1/queues/${handler.queue}/jobs`, `{"payload":   ${payload}   }`);
    expect(status).toBe(201);
    await service.untilIdle();
    const got = await service.api("GET", `/v1/queues/${handler.queue}/jobs/${body.id}`);
    expect(payloadsIn(got.text, payload)).toBe(1);
    expect(handler.received[0]?.raw.endsWith(`,"payload":${payload}}`)).toBe(true);
  });

  test("the depth of a payload counts from the payload itself, at whatever depth it stands in the request", async ({ service }) => {
    const path = `/v1/queues/${await service.queue()}/jobs`;
    const statuses = async (payload: string) => [
      (await service.api("POST", path, `{"payload":${payload}}`)).status,
      (await service.api("POST", `${path}/batch`, `[{"payload":${payload}}]`)).status,
      (await service.api("POST", `${path}/batch`, `{"jobs":[{"payload":${payload}}]}`)).status,
    ];
    expect(await statuses(nested(64))).toEqual([201, 201, 201]);
    expect(await statuses(nested(65))).toEqual([400, 400, 400]);
  });

  test("a member `payload` given twice counts with its last value, however its name is spelled", async ({ service }) => {
    const path = `/v1/queues/${await service.queue()}/jobs`;
    const { body } = await service.api("POST", path, String.raw`{"payload":{"first":1},"p\u0061yload":[2]}`);
    expect(body.payload).toEqual([2]);
  });
});

/** JSON text with all that JSON allows: spacing, spelling of numbers, escapes, repeated keys. */
const space = fc.constantFrom("", "", " ", "\n", "\t", "\r\n ");
const number = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constant("0"), fc.stringMatching(/^[1-9]\d{0,30}$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^\.\d{1,30}$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^[eE][+-]?\d{1,4}$/)),
  )
  .map((parts) => parts.join(""));
const character = fc.oneof(
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }).map((one) => JSON.stringify(one).slice(1, -1)),
  fc.stringMatching(/^\\u[\da-fA-F]{4}$/),
  fc.constantFrom("\\/", "\\b", '\\"', "\\\\", "'", "$1", "${", "{", "}", "[", ",", ":"),
);
/** Without texts that would be templates. */
const string = fc
  .array(character, { maxLength: 12 })
  .map((parts) => `"${parts.join("")}"`)
  .filter((text) => !(JSON.parse(text) as string).includes("${{"));
const { value: json } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(number, string, fc.constantFrom("true", "false", "null", "{}", "[]")),
    fc
      .array(
        fc.tuple(space, tie("value"), space).map((parts) => parts.join("")),
        { maxLength: 5 },
      )
      .map((items) => `[${items.join(",")}]`),
    fc
      .array(
        fc.tuple(space, string, space, fc.constant(":"), space, tie("value"), space).map((parts) => parts.join("")),
        { maxLength: 5 },
      )
      .map((members) => `{${members.join(",")}}`),
  ),
}));

describe("any JSON text", () => {
  const batches = fc.array(json, { minLength: 1, maxLength: 60 });

  test("any JSON text is kept as it was sent: batch reply, list, GET and callback", async ({ service }) => {
    const handler = await service.handler();
    await fc.assert(
      fc.asyncProperty(batches, (payloads) => keepsAll(service, handler, payloads)),
      { numRuns: 60 },
    );
  });
});

async function keepsAll(service: Service, handler: Awaited<ReturnType<Service["handler"]>>, payloads: string[]): Promise<void> {
  handler.received.length = 0;
  const path = `/v1/queues/${handler.queue}/jobs`;
  const { status, text, body } = await service.api(
    "POST",
    `${path}/batch`,
    `{"jobs":[${payloads.map((payload) => `{"payload":${payload}}`).join()}]}`,
  );
  expect(status).toBe(201);
  for (const payload of payloads) expect(payloadsIn(text, payload)).toBeGreaterThan(0);
  await service.untilIdle();
  const ids = (body.jobs as { id: string }[]).map(({ id }) => id);
  const list = (await service.api("GET", `${path}?limit=100`)).text;
  const callbacks = new Map(handler.received.map(({ raw, body: { id } }) => [id, raw]));
  for (const [at, payload] of payloads.entries()) {
    const id = ids[at] as string;
    const start = `{"id":"${id}","queue":"${handler.queue}","state":"completed","payload":`;
    // A payload that looks like a record may stand before it; no other record has its id.
    const found = list.indexOf(start) + start.length;
    expect(list.slice(found, found + payload.length + 1)).toBe(`${payload},`);
    expect(callbacks.get(id)?.endsWith(`,"payload":${payload}}`)).toBe(true);
  }
  const one = await service.api("GET", `${path}/${ids.at(-1)}`);
  expect(payloadsIn(one.text, payloads.at(-1) as string)).toBe(1);
}
