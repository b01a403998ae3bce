import { type NodeFacts, registerNode } from "#engine";
import type { Database, Uuid } from "#kernel";
import { renewNode } from "../../src/engine/leases/store.ts";

/** What a node without a process writes about itself. */
export const FACTS: NodeFacts = {
  process: "00000000-0000-7000-8000-000000000001" as Uuid,
  host: "a-host",
  version: "0.0.0",
  maxMemoryBytes: 2 ** 30,
  maxInFlight: 10,
};

const LOAD = { memoryBytes: 2 ** 20, isDraining: false };

export const register = (db: Database, leaseSeconds: number, masterKeyIds: readonly string[] = []) =>
  registerNode(db, { ...FACTS, leaseSeconds, masterKeyIds, ageSeconds: 0, url: "http://127.0.0.1:8080" }, LOAD);

export const renew = (db: Database, leaseId: number, leaseSeconds: number) =>
  renewNode(db, leaseId, { leaseSeconds, masterKeyIds: [] }, LOAD);
