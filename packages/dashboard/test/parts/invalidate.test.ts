import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { Invalidator } from "../../src/live/invalidate.ts";

test.for([
  [["schedules"], true],
  [null, true],
  [["queues"], false],
] as const)(
  "a list that is under way when %j change is followed by a newer reading of its page: %j",
  async ([kinds, isRead], { onTestFinished }) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false } } });
    const { promise, resolve } = Promise.withResolvers<string>();
    const list = new QueryObserver(client, { queryKey: ["ws", "list", "schedules"], queryFn: () => promise });
    const read = vi.fn(() => Promise.resolve("after the change"));
    const ofPage = new QueryObserver(client, { queryKey: ["ws", "schedules", "page"], queryFn: read, enabled: false });
    onTestFinished(list.subscribe(() => {}));
    onTestFinished(ofPage.subscribe(() => {}));
    const invalidator = new Invalidator(client, "ws");
    onTestFinished(() => invalidator.close());

    invalidator.invalidate(kinds);
    resolve("before the change");
    await promise;
    // What is shown of a list is asked for once the list is there.
    ofPage.setOptions({ queryKey: ["ws", "schedules", "page"], queryFn: read, initialData: await promise });
    await vi.advanceTimersByTimeAsync(1_000);
    expect([list.getCurrentResult().data, ofPage.getCurrentResult().data]).toEqual([
      "before the change",
      isRead ? "after the change" : "before the change",
    ]);
    expect(read).toHaveBeenCalledTimes(isRead ? 1 : 0);
  },
);
