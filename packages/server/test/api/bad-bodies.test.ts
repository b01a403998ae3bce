import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import { type Operation, operationsOf, pathOf } from "../harness/api-doc.ts";
import { type Bad, complaintsAbout, everythingStored, faultsOf } from "../harness/problem.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { type Service, test } from "../harness/service.ts";

const MEBIBYTE = 1024 * 1024;

/** Texts that are not JSON. */
// biome-ignore format: a table
const MALFORMED = [
  "{", "}", "[", "]", "[1,", '{"a"}', '{"a":}', '{"a":1,}', "[1,]", "{'a':1}", "{a:1}", "nul", "tru", "NaN", "Infinity", "undefined", "'x'", '"open', '{"a":01}',
  '{"a":+1}', '{"a":.5}', '{"a":1.}', '{"a":0x1}', '{"a":1e}', '{"a":"\0"}', '{"a":"\n"}', String.raw`{"a":"\x41"}`, String.raw`{"a":"\u12"}`, "{}{}", "{} x", "//\n{}", "/**/{}",
  "\ufeff{}", "\u00a0{}", " ", "\n", "\0", "name=x", "<a/>",
];

/** Bytes that are not UTF-8, or do not match the content type. */
const BYTES = [
  Buffer.from([0x7b, 0x22, 0x61, 0xff, 0x22, 0x7d]), // a byte that UTF-8 never has
  Buffer.from('{"a":"\xed\xa0\x80"}', "latin1"), // a lone surrogate in UTF-8's dress
  Buffer.from('{"a":"\xc0\x80"}', "latin1"), // an overlong NUL
  Buffer.from('{"a":"\xf4\x90\x80\x80"}', "latin1"), // past the last code point
  Buffer.from('{"a":"\xe2\x82"}', "latin1"), // a character that is cut off
  Buffer.from('{"name":"x"}', "utf16le"),
  gzipSync('{"name":"x"}'),
];

/** Every operation with a request body, with what a request to it needs. */
async function withBody(service: Service): Promise<(Operation & { bad: (body?: string | Buffer, more?: Partial<Bad>) => Bad })[]> {
  const name = await service.queue();
  const operations = (await operationsOf(service)).filter(({ requestBody }) => requestBody);
  return operations.map((operation) => ({
    ...operation,
    bad: (body, more = {}) => ({
      method: operation.method,
      path: pathOf(operation, { name: operation.path.startsWith("/v1/secrets/") ? "FINE" : name }),
      ...(body !== undefined && { body }),
      ...more,
    }),
  }));
}

test("a body that is not JSON is refused, and so is one that is not UTF-8", async ({ service }) => {
  const operations = await withBody(service);
  const requests = operations.flatMap(({ bad }) => [...MALFORMED, ...BYTES].map((body) => bad(body)));
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("the refusal of malformed JSON says where it stops being JSON", async ({ service }) => {
  const bad = { method: "POST", path: "/v1/queues", body: '{\n  "name": "x",\n  "type": standard\n}', says: "line 3, column 11" };
  expect(await complaintsAbout(service, "VALIDATION_ERROR", [bad])).toEqual([]);
});

test("an operation that needs a body says so when none comes", async ({ service }) => {
  const needing = (await withBody(service)).filter(({ requestBody }) => requestBody?.required);
  const requests = needing.flatMap(({ bad }) => [undefined, "", "null"].map((body) => bad(body, { says: "needs a JSON body" })));
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("an operation whose body is optional takes none for an empty one", async ({ service }) => {
  const optional = (await withBody(service)).filter(({ requestBody }) => !requestBody?.required);
  expect(optional.map(({ id }) => id).sort()).toEqual([
    "approveJob",
    "completeSignal",
    "purgeDeadLetters",
    "rejectJob",
    "retryAll",
    "retryDeadLetters",
  ]);
  for (const { method, path: route, bad } of optional) {
    const { path } = bad();
    // Paths with a job's id name a job that does not exist.
    const status = route.includes("{id}") ? 404 : 200;
    for (const headers of [{}, { "content-type": "application/json" }]) {
      expect((await service.api(method, path, undefined, headers)).status).toBe(status);
      expect((await service.api(method, path, "", headers)).status).toBe(status);
    }
  }
});

test("a body of another type than the operation's is refused", async ({ service }) => {
  // The body of a completion is any value.
  const operations = (await withBody(service)).filter(({ id }) => id !== "completeSignal");
  const requests = operations.flatMap(({ bad }) => ["7", '"text"', "true", "[]", "[[]]", "[7]"].map((body) => bad(body)));
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("a body that is not declared as JSON is refused", async ({ service }) => {
  const types = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonx",
    "application/xml",
    "text/json",
    "json",
    "////",
    ";",
  ];
  const requests = (await withBody(service)).flatMap(({ bad }) =>
    types.map((type) => bad("{}", { headers: { "content-type": type }, names: "content-type", says: "application/json" })),
  );
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("the JSON type may be written in capitals and with parameters", async ({ service }) => {
  for (const [at, type] of [
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
  ].entries()) {
    expect((await service.api("POST", "/v1/queues", { name: `q${at}` }, { "content-type": type })).status).toBe(201);
  }
});

test("a body may nest 64 deep and no deeper, however deep it goes on", async ({ service }) => {
  const nested = (depth: number) => `{"x":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  const operations = await withBody(service);
  const tooDeep = operations.flatMap(({ bad }) =>
    [nested(65), nested(100_000), "[".repeat(500_000), '{"a":'.repeat(100_000)].map((body) => bad(body, { says: "64 deep" })),
  );
  const deep = operations
    .filter(({ id }) => id !== "enqueueBatch" && id !== "completeSignal")
    .map(({ bad }) => bad(nested(64), { names: "x", says: "is not a known field" }));
  expect(await complaintsAbout(service, "VALIDATION_ERROR", [...tooDeep, ...deep])).toEqual([]);
});

/** The limit of an operation's body: 16 MiB for a batch, a worker's call or steps, 2 MiB otherwise. Source: contract §8. */
const limitOf = ({ id }: Operation): number =>
  (["enqueueBatch", "work", "reportSteps", "reportStepsOfRuns", "triggerWorkflowMany"].includes(id) ? 16 : 2) * MEBIBYTE;

test("a body over its limit is refused with the limit, whether its length is told or not", async ({ service }) => {
  const operations = await withBody(service);
  const before = await everythingStored(service.database);
  for (const operation of operations) {
    const body = Buffer.alloc(limitOf(operation) + 1, " ");
    for (const framing of [{}, { "transfer-encoding": "chunked" }]) {
      const headers = { authorization: `Bearer ${service.key}`, "content-type": "application/json", ...framing };
      const reply = await sendRaw(service.node.url, { ...operation.bad(body), headers });
      expect([operation.id, ...faultsOf(reply, "PAYLOAD_TOO_LARGE")]).toEqual([operation.id]);
      expect(reply.body.error.details).toEqual({ limit_bytes: limitOf(operation) });
    }
  }
  expect(await everythingStored(service.database)).toEqual(before);
});

test("a body of exactly its limit is read", async ({ service }) => {
  const requests = (await withBody(service)).map((operation) => operation.bad(Buffer.alloc(limitOf(operation), " "), { names: "" }));
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("a payload over 1 MiB is refused, counted in bytes of its text, and a batch with it whole", async ({ service }) => {
  const path = `/v1/queues/${await service.queue()}/jobs`;
  const payloads = [`"${"x".repeat(MEBIBYTE - 1)}"`, `"${"é".repeat(MEBIBYTE / 2)}"`, `[${" ".repeat(MEBIBYTE - 1)}]`];
  const single = payloads.map((payload) => ({ method: "POST", path, body: `{"payload":${payload}}` }));
  const batch = payloads.map((payload) => ({ method: "POST", path: `${path}/batch`, body: `[{"payload":1},{"payload":${payload}}]` }));
  expect(await complaintsAbout(service, "PAYLOAD_TOO_LARGE", [...single, ...batch])).toEqual([]);
  for (const { method, path: to, body } of [...single, ...batch]) {
    expect((await service.api(method, to, body)).body.error.details).toMatchObject({ limit_bytes: MEBIBYTE });
  }
});
