import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { NodeLease } from "#engine";
import { DatabaseClock, type Statement, unavailable } from "#kernel";
import { FACTS } from "../harness/node-leases.ts";

const LEASE_SECONDS = 15;

/** The table of nodes, as the lease's statements see it. The database can be unavailable, or respond slowly. */
class FakeNodes {
  away = false;
  /** The SQLSTATE with which it refuses writes, if it does. */
  refusal: string | null = null;
  slowMs = 0;
  vaultKey: string | null = null;
  peers: string[] = [];
  readonly leases = new Map<number, number>();

  query = async ({ text, values }: Statement): Promise<{ rows: unknown[] }> => {
    if (this.away) throw new Error("The database is away.");
    if (this.refusal) throw Object.assign(unavailable(), { cause: { code: this.refusal } });
    const id = /insert into lease/.test(text)
      ? this.leases.size + 1
      : Number(values.find((value) => this.leases.has(Number(value)) && value !== LEASE_SECONDS) ?? this.leases.size);
    const isNew = /insert into lease/.test(text);
    if (/expires_at = now\(\) where/.test(text)) this.leases.set(id, Date.now());
    else if (isNew || (this.leases.get(id) ?? 0) > Date.now()) this.leases.set(id, Date.now() + LEASE_SECONDS * 1000);
    else return { rows: [] };
    const answer = { rows: [{ id, peers: this.peers, now_ms: Date.now(), vault_key: this.vaultKey }] };
    if (this.slowMs > 0) await new Promise((resolve) => setTimeout(resolve, this.slowMs));
    return answer;
  };
}

let nodes: FakeNodes;
let lease: NodeLease;
let told: string[];
let keys: string[];
let emitted: Record<string, unknown>[];

beforeEach(async () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 21, 12) });
  nodes = new FakeNodes();
  told = [];
  keys = [];
  emitted = [];
  lease = new NodeLease({
    db: nodes,
    clock: new DatabaseClock(),
    random: { bytes: (length) => Buffer.alloc(length), fraction: () => 0 },
    emit: (event, fields) => emitted.push({ event, ...fields }),
    leaseSeconds: LEASE_SECONDS,
    facts: FACTS,
    url: () => "http://127.0.0.1:8080",
    masterKeyIds: () => keys,
    onKeyMissing: (id) => told.push(`missing ${id}`),
    onLost: () => told.push("lost"),
    onGap: () => told.push("gap"),
  });
  await lease.start();
});

afterEach(async () => {
  await lease.stop();
  vi.useRealTimers();
});

const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);

describe("a node's lease", () => {
  test("a node's lease is held from the start, and renewed for as long as the database answers", async () => {
    expect(lease.heldBy).toBe(1);
    await pass(600);
    expect(lease.heldBy).toBe(1);
    expect(told).toEqual(["gap"]);
    expect(nodes.leases.get(1)).toBeGreaterThan(Date.now() + 9_000);
  });

  test("a node's lease is given up before it ends when no renewal gets through: others take the jobs then, not earlier", async () => {
    nodes.away = true;
    await pass(11.9);
    expect(lease.heldBy).toBe(1);
    await pass(0.2);
    expect(lease.heldBy).toBeNull();
    expect(told).toEqual(["gap", "lost"]);
    expect(nodes.leases.get(1)).toBeGreaterThan(Date.now());
  });

  test("a node's lease that ran out while the database was away is never taken up again: the node goes on under a new one", async () => {
    nodes.away = true;
    await pass(60);
    nodes.away = false;
    await pass(20);
    expect(lease.heldBy).toBe(2);
    expect(told.at(-1)).toBe("gap");
  });

  test("a node's lease counts from when its renewal was sent, not from when the answer came", async () => {
    nodes.slowMs = 4_000;
    await pass(5);
    nodes.away = true;
    // Sent at 5 s, answered at 9 s: the lease holds until 17 s, not until 21 s.
    await pass(12.1);
    expect(lease.heldBy).toBeNull();
  });

  test("a node's lease that was given up in time and is renewed in time after all is held again, and says so", async () => {
    nodes.away = true;
    await pass(12.5);
    expect(told).toEqual(["gap", "lost"]);
    nodes.away = false;
    for (let step = 0; step < 20 && lease.heldBy === null; step += 1) {
      lease.refresh();
      await pass(0.1);
    }
    expect(lease.heldBy).not.toBeNull();
    expect(told).toEqual(["gap", "lost", "gap"]);
  });

  test("a node's lease says once that the database refuses writes, and once that it accepts them again", async () => {
    nodes.refusal = "25006";
    await pass(60);
    nodes.away = true;
    await pass(60);
    expect(emitted.filter(({ event }) => String(event).startsWith("database_"))).toEqual([
      { event: "database_writes_refused", error: expect.objectContaining({ code: "UNAVAILABLE" }) },
    ]);
    [nodes.refusal, nodes.away] = [null, false];
    await pass(60);
    expect(emitted.filter(({ event }) => event === "database_writes_resumed")).toEqual([
      { event: "database_writes_resumed", refusedMs: expect.any(Number) },
    ]);
  });

  test("a node's lease that the database has forgotten is lost", async () => {
    nodes.leases.set(1, 0);
    lease.refresh();
    await pass(0);
    expect(told).toEqual(["gap", "lost", "gap"]);
    expect(lease.heldBy).toBe(2);
  });

  test("a node's lease tells when the vault has come to be locked with a key that the node has not got, at each renewal and when it is new", async () => {
    [nodes.vaultKey, keys] = ["old", ["old"]];
    await pass(5);
    nodes.vaultKey = "new";
    await pass(5);
    nodes.leases.set(1, 0);
    await pass(5);
    expect(told).toEqual(["gap", "missing new", "lost", "gap", "missing new"]);
    keys = ["old", "new"];
    await pass(600);
    expect(told).toHaveLength(5);
  });

  test("a node's lease tells when a peer is gone, not when one has come", async () => {
    nodes.peers = ["8", "9"];
    await pass(5);
    expect(told).toEqual(["gap"]);
    nodes.peers = ["9"];
    await pass(600);
    expect(told).toEqual(["gap", "gap"]);
  });

  test("a node's lease tells once when a peer is gone while another has come, also if the lease is new", async () => {
    nodes.peers = ["8", "9"];
    await pass(5);
    nodes.peers = ["9", "10"];
    await pass(600);
    expect(told).toEqual(["gap", "gap"]);
    nodes.leases.set(1, 0);
    nodes.peers = ["10"];
    await pass(600);
    expect(told).toEqual(["gap", "gap", "lost", "gap"]);
  });

  test("a node's lease that is stopped during a renewal is not lost later", async () => {
    nodes.slowMs = 3_000;
    await pass(6);
    const stopped = lease.stop();
    await pass(3);
    await stopped;
    await pass(600);
    expect(told).toEqual(["gap"]);
  });

  test("a node's lease ends at once when it is released", async () => {
    await lease.stop();
    await lease.release();
    expect(lease.heldBy).toBeNull();
    expect(nodes.leases.get(1)).toBeLessThanOrEqual(Date.now());
  });
});
