import { checkMayServe, type Principal } from "#http";
import { type Clock, type Db, problem, type WorkspaceId } from "#kernel";
import { type LaneKind, laneNotFound } from "#lanes";
import type { CodeVersions } from "./code-versions.ts";
import type { PolledLane } from "./poll.ts";
import type { Polls } from "./polls.ts";
import { findLanes } from "./store.ts";

interface LanesDeps {
  readonly polls: Polls;
  readonly versions: CodeVersions;
  readonly clock: Pick<Clock, "elapsedMs">;
}

/**
 * The lanes of the queues and workflows that a call asks for.
 *
 * @throws NOT_FOUND for a queue, INVALID_STATE for a queue that nodes serve, FORBIDDEN for a queue or workflow that the key is not bound to
 */
export async function askedLanes(
  deps: LanesDeps,
  db: Db,
  principal: Principal,
  queues: readonly string[],
  workflows: readonly string[],
  version: string,
): Promise<PolledLane[]> {
  for (const queue of queues) checkMayServe(principal, "queue", queue);
  for (const workflow of workflows) checkMayServe(principal, "workflow", workflow);
  return [
    ...(await lanesOf(deps, db, principal.workspaceId, "queue", queues, "")),
    ...(await lanesOf(deps, db, principal.workspaceId, "workflow", workflows, version)),
  ];
}

/** The lanes of queues or workflows, looked up unless they were recently. */
async function lanesOf(
  { polls, versions, clock }: LanesDeps,
  db: Db,
  workspaceId: WorkspaceId,
  kind: Exclude<LaneKind, "http">,
  names: readonly string[],
  version: string,
): Promise<PolledLane[]> {
  const nowMs = clock.elapsedMs();
  const laneNames = names.map((name) => ({ kind, name, version }));
  const lanes = new Map(laneNames.map((one) => [one.name, polls.lanes.fresh(workspaceId, one, nowMs)]));
  const unknown = laneNames.filter(({ name }) => !lanes.get(name));
  const lookUp = async () => {
    const wanted = unknown.map(({ name }) => name);
    const found = new Map((await findLanes(db, workspaceId, kind, wanted)).map((one) => [one.name, one]));
    for (const one of unknown) {
      const { name } = one;
      const lane = found.get(name);
      if (!lane) throw await laneNotFound(db, workspaceId, kind, name);
      if (lane.served !== "pull") throw kind === "queue" ? servedByNodes(name) : servedByEndpoint(name);
      if (kind === "workflow") versions.check(lane.laneId, name, version);
      lanes.set(name, polls.lanes.found(lane, one, nowMs));
    }
  };
  if (unknown.length > 0) await polls.lanes.lookUpAgain(workspaceId, unknown, nowMs, lookUp);
  return [...lanes.values()].filter((lane) => lane !== undefined);
}

const servedByEndpoint = (workflow: string) =>
  problem(
    "INVALID_STATE",
    { workflow },
    { message: `The workflow "${workflow}" has an endpoint_url: its runs are executed there, and workers cannot take them.` },
  );

const servedByNodes = (queue: string) =>
  problem(
    "INVALID_STATE",
    { queue },
    { message: `The queue "${queue}" has a callback_url: its jobs are delivered, and workers cannot take them.` },
  );
