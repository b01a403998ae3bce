import { findLanesWithWorkAcrossWorkspaces, forgetNodes, type LaneKey, rescueAcrossWorkspaces } from "#dispatch";
import type { Config, Database, EmitEvent, LoopOptions } from "#kernel";
import {
  foldTallyAcrossWorkspaces,
  forgetTallyAcrossWorkspaces,
  keepPartitions,
  sweepDeletedQueuesAcrossWorkspaces,
  sweepDeletedWorkspacesAcrossWorkspaces,
  sweepKeysAcrossWorkspaces,
} from "#retention";
import { foldUsageAcrossWorkspaces, forgetUsageAcrossWorkspaces } from "#usage";
import type { KeyUses } from "#workspaces";

export interface BackgroundWork {
  readonly config: Config;
  readonly engine: Database;
  readonly emit: EmitEvent;
  readonly keyUses: KeyUses;
  /** Jobs wait in these lanes; other nodes look for themselves. */
  readonly onFound: (lanes: LaneKey[]) => void;
  /** Jobs wait again in these lanes: all nodes should know. */
  readonly onWaiting: (lanes: LaneKey[]) => void;
}

const HOUR_MS = 3_600_000;

/** Every loop that a node runs besides its lease and the clockwork of delayed jobs: name, interval, what a pass does. */
export const backgroundLoops = ({ config, engine, emit, keyUses, onFound, onWaiting }: BackgroundWork): LoopOptions[] => [
  { name: "look-for-work", everyMs: config.pollEveryMs, pass: async () => onFound(await findLanesWithWorkAcrossWorkspaces(engine)) },
  { name: "rescue", everyMs: (config.nodeLeaseSeconds * 1000) / 3, pass: () => rescueAcrossWorkspaces(engine, emit, onWaiting) },
  { name: "sweep-queues", everyMs: 15_000, pass: () => sweepDeletedQueuesAcrossWorkspaces(engine) },
  { name: "sweep-workspaces", everyMs: 60_000, pass: () => sweepDeletedWorkspacesAcrossWorkspaces(engine) },
  { name: "sweep-keys", everyMs: 60_000, pass: () => sweepKeysAcrossWorkspaces(engine) },
  { name: "key-uses", everyMs: 10_000, pass: () => keyUses.write() },
  { name: "fold-tally", everyMs: 30_000, pass: () => foldTallyAcrossWorkspaces(engine) },
  { name: "fold-usage", everyMs: 5_000, pass: () => foldUsageAcrossWorkspaces(engine) },
  { name: "forget-usage", everyMs: 24 * HOUR_MS, pass: () => forgetUsageAcrossWorkspaces(engine) },
  { name: "forget-tally", everyMs: HOUR_MS, pass: () => forgetTallyAcrossWorkspaces(engine) },
  { name: "forget-nodes", everyMs: HOUR_MS, pass: () => forgetNodes(engine) },
  { name: "partitions", everyMs: HOUR_MS, pass: () => keepPartitions(engine, emit) },
];
