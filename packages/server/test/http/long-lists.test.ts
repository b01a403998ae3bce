import { afterEach, expect, test } from "vitest";
import { type Api, createApi, listen } from "#http";
import { LoopTime, SharedResource, systemRandom, type WorkspaceId } from "#kernel";
import { principalOf } from "../harness/principal.ts";
import { until } from "../harness/service.ts";

const WORKSPACE = "mine" as WorkspaceId;

const opened: Api[] = [];

afterEach(async () => {
  for (const api of opened.splice(0)) await api.close();
});

/** Reads what a route responds with. The key is the name of its workspace. */
async function responseOf(payload: object, loopTime = new LoopTime(), signal?: AbortSignal): Promise<Response> {
  const api = createApi({
    authenticator: { findPrincipal: async (key) => principalOf(key), operatorToken: null },
    emit: () => {},
    random: systemRandom,
    shares: { requestMemory: new SharedResource({ name: "request_memory", capacity: 64 * 1024 * 1024 }), loopTime },
  });
  opened.push(api);
  api.get("/list", { config: { access: "read" } }, () => payload);
  return fetch(`${await listen(api, "127.0.0.1", 0)}/list`, { headers: { authorization: `Bearer ${WORKSPACE}` }, signal: signal ?? null });
}

const record = (at: number, length: number) => ({ id: at, text: "é".repeat(length), list: [at], none: null });
const records = (count: number, length: number) => Array.from({ length: count }, (_, at) => record(at, length));

test.for([
  ["empty", [], { next_cursor: null }],
  ["of one record", records(1, 10), { next_cursor: "1" }],
  ["of a few records", records(3, 10), { next_cursor: null, found: 3 }],
  ["with nothing else", records(3, 10), {}],
] as const)("a list is sent as it is: %s", async ([, data, others]) => {
  const response = await responseOf({ data, ...others });
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  const text = await response.text();
  expect(text).toBe(JSON.stringify({ data, ...others }));
  expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
});

test("a long list is made in slices, and sent in chunks", async () => {
  const loopTime = new LoopTime();
  const run = loopTime.run.bind(loopTime);
  let slices = 0;
  loopTime.run = (workspaceId, characters, work) =>
    run(
      workspaceId,
      characters,
      (function* () {
        for (;;) {
          const step = work.next();
          if (step.done) return step.value;
          slices += 1;
          yield;
        }
      })(),
    );
  const list = { data: records(100, 20_000), next_cursor: "100" };
  const response = await responseOf(list, loopTime);
  expect(response.headers.get("content-length")).toBeNull();
  expect(await response.json()).toEqual(list);
  expect(slices).toBe(24);
});

test("a list that its client no longer waits for is not made", async () => {
  const loopTime = new LoopTime();
  // Works of a workspace are done one after the other.
  const endless = (function* () {
    for (;;) yield;
  })();
  void Promise.resolve(loopTime.run(WORKSPACE, Number.POSITIVE_INFINITY, endless)).catch(() => {});
  const client = new AbortController();
  const response = responseOf({ data: records(100, 20_000) }, loopTime, client.signal);
  await until(() => loopTime.waiting === 2, "the list to wait for its turn");
  client.abort();
  await expect(response).rejects.toThrow("aborted");
  await until(() => loopTime.waiting === 1, "the list to be dropped");
  loopTime.drop(endless);
});

test("what is no list is sent as it is, also with a field of the same name", async () => {
  for (const payload of [{ data: "text" }, { data: { a: 1 }, b: 2 }, { a: [1, 2] }])
    expect(await (await responseOf(payload)).json()).toEqual(payload);
});
