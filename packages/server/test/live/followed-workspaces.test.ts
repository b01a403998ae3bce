import { Writable } from "node:stream";
import { RECORD_KINDS } from "@tidemill/contract";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Changes, SharedResource, systemRandom, unavailable, type WorkspaceId } from "#kernel";
import { FollowedWorkspaces, type LiveMessage } from "../../src/live/followed-workspaces.ts";

const OURS = "01994a5b-0000-7000-8000-000000000001" as WorkspaceId;
const THEIRS = "01994a5b-0000-7000-8000-000000000002" as WorkspaceId;

/** A reader that takes all that comes, or nothing. */
class Reader extends Writable {
  text = "";
  isStuck = false;

  constructor() {
    super({ highWaterMark: 1 });
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    if (!this.isStuck) done();
  }

  get kinds(): string[] {
    return [...this.text.matchAll(/^data: \{"kinds":\[(.*)\]\}$/gm)].map(([, kinds = ""]) => kinds.replaceAll('"', ""));
  }
}

/** Two nodes that hear each other, each with the changes of its modules. */
function fixture() {
  let nowMs = 0;
  const clock = { elapsedMs: () => nowMs };
  const advance = async (ms: number) => {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  const messages: LiveMessage[] = [];
  const nodes: FollowedWorkspaces[] = [];
  const tell = (message: LiveMessage) => {
    messages.push(message);
    for (const node of nodes) node.receive(message);
  };
  const node = () => {
    const changes = new Changes();
    const shares = { eventStreams: new SharedResource({ name: "event_streams", capacity: 10 }) };
    const followed = new FollowedWorkspaces({ changes, clock, random: systemRandom, shares, notify: tell, reply: tell });
    nodes.push(followed);
    const open = async (workspaceId = OURS, reauthenticate = async () => {}) => {
      const stream = followed.open(workspaceId, { reauthenticate, personId: null });
      const reader = new Reader();
      stream.pipe(reader);
      await advance(0);
      return { stream, reader };
    };
    return { changes, followed, shares, open };
  };
  return { advance, messages, one: node(), addNode: node };
}

describe("a workspace that is followed", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("has an event at most once a second, with all kinds that have changed", async () => {
    const { one, advance } = fixture();
    const { reader } = await one.open();
    for (let at = 0; at < 300; at += 1) {
      one.changes.report(OURS, at % 2 ? ["jobs"] : ["jobs", "queues"]);
      await advance(10);
    }
    expect(reader.kinds).toEqual(["jobs,queues", "jobs,queues", "jobs,queues"]);
    await advance(1_000);
    await advance(1_000);
    expect(reader.kinds).toHaveLength(4);
    one.changes.report(OURS, ["keys"]);
    await advance(50);
    expect(reader.kinds.at(-1)).toBe("keys");
  });

  test("does not show the changes of another one", async () => {
    const { one, advance } = fixture();
    const ours = await one.open(OURS);
    const theirs = await one.open(THEIRS);
    one.changes.report(OURS, ["secrets"]);
    await advance(2_000);
    expect([ours.reader.kinds, theirs.reader.kinds]).toEqual([["secrets"], []]);
  });

  test("shows what other nodes change, which say nothing of workspaces that nobody follows", async () => {
    const { one, addNode, advance, messages } = fixture();
    const other = addNode();
    const { reader } = await one.open();
    await advance(2_000);
    expect(reader.kinds).toEqual([RECORD_KINDS.join()]);
    messages.length = 0;
    other.changes.report(OURS, ["jobs"]);
    other.changes.report(THEIRS, ["jobs"]);
    await advance(2_000);
    expect(messages).toMatchObject([{ kind: "recordsChanged", workspaceId: OURS, kinds: ["jobs"] }]);
    await advance(600_000);
    other.changes.report(OURS, ["runs"]);
    await advance(2_000);
    expect(reader.kinds.slice(1)).toEqual(["jobs", "runs"]);
  });

  test("is named by a node every 20 s, and forgotten by the others within a minute after its last reader is gone", async () => {
    const { one, addNode, advance, messages } = fixture();
    const other = addNode();
    const { stream } = await one.open();
    await advance(60_000);
    expect(messages.filter(({ kind }) => kind === "workspaceFollowed")).toHaveLength(4);
    stream.destroy();
    await advance(60_000);
    messages.length = 0;
    other.changes.report(OURS, ["jobs"]);
    await advance(60_000);
    expect(messages).toEqual([]);
  });

  test("is named to a node that starts, or may have missed something, which lets its readers ask for everything again", async () => {
    const { one, addNode, advance, messages } = fixture();
    const other = addNode();
    await one.open();
    const { reader } = await other.open(THEIRS);
    await advance(2_000);
    messages.length = 0;
    other.followed.missed();
    await advance(2_000);
    expect(messages.map(({ kind }) => kind)).toEqual(["followersWanted", "workspaceFollowed"]);
    expect(reader.kinds[0]).toBe(RECORD_KINDS.join());
  });

  test("keeps for a slow reader only which kinds have changed, and disconnects it at the second heartbeat", async () => {
    const { one, advance } = fixture();
    const slow = await one.open();
    const quick = await one.open();
    slow.reader.isStuck = true;
    for (let at = 0; at < 10; at += 1) {
      one.changes.report(OURS, ["jobs"]);
      await advance(1_000);
    }
    expect([slow.reader.kinds.length, quick.reader.kinds.length]).toEqual([1, 10]);
    expect(slow.stream.destroyed).toBe(false);
    await advance(21_000);
    expect([slow.stream.destroyed, quick.stream.destroyed]).toEqual([true, false]);
  });

  test("sends a comment every 15 s, and authenticates its readers at once, then, and when a key has changed", async () => {
    const { one, advance } = fixture();
    let checks = 0;
    let isAllowed = true;
    const { stream, reader } = await one.open(OURS, async () => {
      checks += 1;
      if (!isAllowed) throw new Error("UNAUTHORIZED");
    });
    expect(reader.text).toMatch(/^retry: [123]\d\d\d\n\n$/);
    await advance(30_000);
    expect([checks, reader.text.match(/: heartbeat/g)?.length]).toEqual([3, 2]);
    one.followed.workspaceChanged(THEIRS);
    one.followed.workspaceChanged(OURS);
    await advance(0);
    expect([checks, stream.readableEnded]).toEqual([4, false]);
    isAllowed = false;
    await advance(15_000);
    expect(stream.readableEnded).toBe(true);
    expect(one.shares.eventStreams.total).toBe(0);
  });

  test("breaks off when a reader cannot be authenticated while the database is away: that is no lost right", async () => {
    const { one, advance } = fixture();
    let isDatabaseAway = false;
    const { stream } = await one.open(OURS, async () => {
      if (isDatabaseAway) throw unavailable();
    });
    isDatabaseAway = true;
    await advance(15_000);
    expect([stream.destroyed, stream.readableEnded]).toEqual([true, false]);
    expect(one.shares.eventStreams.total).toBe(0);
  });

  test("has only its share of streams", async () => {
    const { one } = fixture();
    const opened = [];
    try {
      for (;;) opened.push(await one.open());
    } catch (error) {
      expect(error).toMatchObject({
        code: "UNAVAILABLE",
        message: "Your workspace's share of this node's capacity for streams of events is in use. Try again later.",
      });
    }
    expect(opened.length).toBeLessThan(10);
    await one.open(THEIRS);
  });

  test("ends its streams when the node stops, and opens none", async () => {
    const { one, advance } = fixture();
    const { stream } = await one.open();
    one.followed.close();
    await advance(0);
    expect(stream.readableEnded).toBe(true);
    expect((await one.open()).stream.readableEnded).toBe(true);
  });
});
