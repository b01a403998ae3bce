import { describe, expect } from "vitest";
import { type Service, test } from "../harness/service.ts";

/** The payloads of a list's records, in order. */
const payloads = async (service: Service, path: string): Promise<unknown[]> =>
  (await service.ok("GET", path)).data.map(({ payload }: { payload: unknown }) => payload);

/** The payloads of all pages. */
async function pages(service: Service, path: string): Promise<unknown[][]> {
  const found: unknown[][] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { data, next_cursor } = await service.ok("GET", `${path}${cursor && `&cursor=${cursor}`}`);
    found.push(data.map(({ payload }: { payload: unknown }) => payload));
    cursor = next_cursor;
  }
  return found;
}

describe("the jobs of a queue", () => {
  test("the jobs of a queue come newest first, in pages that new jobs and moves between states do not shift", async ({ service }) => {
    const queue = await service.queue();
    const path = `/v1/queues/${queue}/jobs`;
    const { jobs } = await service.ok(
      "POST",
      `${path}/batch`,
      [1, 2, 3, 4, 5, 6, 7].map((payload) => ({ payload })),
    );
    expect(await pages(service, `${path}?limit=3`)).toEqual([[7, 6, 5], [4, 3, 2], [1]]);
    const first = await service.ok("GET", `${path}?limit=3`);
    await service.enqueue({ queue, payload: 8 });
    await service.ok("DELETE", `${path}/${jobs[3].id}`); // 4 moves to history
    await service.ok("DELETE", `${path}/${jobs[4].id}`); // 5, the page's last, moves to history and then is gone
    await service.ok("DELETE", `${path}/${jobs[4].id}`);
    expect(await payloads(service, `${path}?limit=3&cursor=${first.next_cursor}`)).toEqual([4, 3, 2]);
  });

  test("the jobs of a queue are filtered by states and tags: one of each that is given, all kinds together", async ({ service }) => {
    const queue = await service.queue();
    const path = `/v1/queues/${queue}/jobs`;
    const sent = [
      { payload: "plain" },
      { payload: "a", tag: "a" },
      { payload: "b", tag: "b" },
      { payload: "later a", tag: "a", delay: 60 },
      { payload: "later b", tag: "b", delay: 60 },
      { payload: "gone a", tag: "a" },
      { payload: "odd", tag: "a b&c=d/é%" },
    ];
    const { jobs } = await service.ok("POST", `${path}/batch`, sent);
    await service.ok("DELETE", `${path}/${jobs[5].id}`);
    const of = (query: string) => payloads(service, `${path}?${query}`);
    expect(await of("state=waiting")).toEqual(["odd", "b", "a", "plain"]);
    expect(await of("state=cancelled")).toEqual(["gone a"]);
    expect(await of("state=completed")).toEqual([]);
    expect(await of("state=delayed,cancelled")).toEqual(["gone a", "later b", "later a"]);
    expect(await of("state=delayed&state=cancelled")).toEqual(["gone a", "later b", "later a"]);
    expect(await of("state=delayed&state=cancelled,waiting&tag=a")).toEqual(["gone a", "later a", "a"]);
    expect(await of("tag=a")).toEqual(["gone a", "later a", "a"]);
    expect(await of("tag=a,b&state=waiting")).toEqual(["b", "a"]);
    expect(await of("tag=a&tag=b&state=waiting")).toEqual(["b", "a"]);
    expect(await of(`tag=${encodeURIComponent("a b&c=d/é%")}`)).toEqual(["odd"]);
    expect(await of("tag=A")).toEqual([]);
    expect(await of("state=waiting&limit=2")).toEqual(["odd", "b"]);
    expect(await pages(service, `${path}?state=delayed&state=cancelled&limit=1`)).toEqual([["gone a"], ["later b"], ["later a"]]);
  });
});

describe("the dead letters of a workspace", () => {
  test("the dead letters of a workspace come newest first over all queues, filtered by queues, tags and errors", async ({ service }) => {
    const failing = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
    const redirecting = await service.handler({ answers: { status: 301, headers: { location: "/" } }, defaultJobOptions: { attempts: 1 } });
    for (const [queue, payload, tag] of [
      [failing.queue, 1, "a"],
      [redirecting.queue, 2, "a"],
      [failing.queue, 3, "b"],
      [redirecting.queue, 4, "c"],
    ] as const) {
      await service.enqueue({ queue, payload, tag });
    }
    await service.untilIdle();
    const of = (query: string) => payloads(service, `/v1/dlq?${query}`);
    expect(await of("")).toEqual([4, 3, 2, 1]);
    expect(await of(`queue=${failing.queue}`)).toEqual([3, 1]);
    expect(await of(`queue=${failing.queue}&queue=${redirecting.queue}&tag=a`)).toEqual([2, 1]);
    expect(await of("error=REDIRECT")).toEqual([4, 2]);
    expect(await of("error=REDIRECT&error=HTTP_STATUS&tag=b&tag=c")).toEqual([4, 3]);
    expect(await of("error=TIMEOUT,HTTP_STATUS&tag=a")).toEqual([1]);
    expect(await of("queue=absent")).toEqual([]);
    expect(await pages(service, "/v1/dlq?limit=3")).toEqual([[4, 3, 2], [1]]);
  });
});
