import { Environment } from "../environment.ts";
import { Peer } from "../processes.ts";
import { processorOfPostgres } from "../processor.ts";
import type { Attack } from "./attack.ts";
import type { AttackerOptions } from "./attacker.ts";
import { Operator, planOf } from "./operator.ts";
import { clearWorkspaces, countCharged } from "./put-rows.ts";
import type { Samples } from "./samples.ts";
import { nodeSettings } from "./settings.ts";
import { type NodeFigures, WatchedNode } from "./watched-node.ts";

const WARM_UP_SECONDS = 3;

export interface RunOptions {
  readonly attacks: readonly Attack[];
  readonly seconds: number;
  readonly nodes: number;
  /** Whether the neighbour has nodes and a PostgreSQL of its own, which are shown instead of the attacked ones. */
  readonly apart: boolean;
}

/** What a run has shown. */
export interface Outcome {
  readonly attacks: readonly Attack[];
  readonly samples: Samples;
  readonly charged: number;
  readonly nodes: readonly NodeFigures[];
  /** Of PostgreSQL, while the neighbour was measured. */
  readonly cores: number;
  /** Responses to each attack, by status or error. */
  readonly counts: readonly Readonly<Record<string, number>>[];
}

/** Measures the neighbour on fresh nodes and in a fresh workspace, while another workspace attacks. Without attacks it is alone. */
export async function run(environment: Environment, { attacks, seconds, nodes: count, apart }: RunOptions): Promise<Outcome> {
  const stops: (() => Promise<void>)[] = [];
  const started = (peer: Peer): Peer => {
    stops.unshift(() => peer.stop());
    return peer;
  };
  try {
    const { peer: neighbour, said } = await Peer.start<{ namePort: number }>("neighbour", {}, { ownSession: true });
    started(neighbour);
    const env = nodeSettings(said.namePort);
    const limits = attacks.flatMap(({ fileLimit }) => fileLimit ?? []);
    const fileLimit = attacks.length === 1 ? limits[0] : undefined;
    const startNodes = async (on: Environment): Promise<WatchedNode[]> => {
      const some: WatchedNode[] = [];
      while (some.length < count) {
        const one = await WatchedNode.start(on, env, fileLimit);
        started(one.node.peer);
        some.push(one);
      }
      return some;
    };
    const own = apart ? await Environment.open() : environment;
    if (apart) stops.push(() => own.close());
    const nodes = await startNodes(own);
    const attacked = apart ? await startNodes(environment) : nodes;
    const operatorOf = ([first]: readonly WatchedNode[]) => new Operator(first?.node.internalUrl ?? "");
    const urlsOf = (some: readonly WatchedNode[]) => some.map(({ node }) => node.url);
    const workspace = await operatorOf(nodes).createWorkspace("Neighbour", "enterprise");
    await neighbour.ask({ kind: "open", urls: urlsOf(nodes), key: workspace.key });
    await neighbour.ask({ kind: "measure", seconds: WARM_UP_SECONDS });
    const attackers = await prepare(environment, operatorOf(attacked), urlsOf(attacked), attacks, started);
    await Promise.all(nodes.map((node) => node.reset()));
    const before = { seconds: processorOfPostgres(own.connection.host), atMs: performance.now() };
    // An attacker that has begun may wait for a core before it says so. The others, and what is measured, do not wait for that.
    const [samples] = await Promise.all([neighbour.ask<Samples>({ kind: "measure", seconds }), ...attackers.map(start)]);
    const cores = (processorOfPostgres(own.connection.host) - before.seconds) / ((performance.now() - before.atMs) / 1_000);
    const figures = await Promise.all(nodes.map((node) => node.read()));
    const charged = await countCharged(own.database, workspace.uuid);
    const counts: Record<string, number>[] = [];
    for (const attacker of attackers) counts.push((await attacker.ask<{ counts: Record<string, number> }>({ kind: "report" })).counts);
    return { attacks, samples, charged, nodes: figures, cores, counts };
  } finally {
    for (const stop of stops) await stop();
    await clearWorkspaces(environment.database);
  }
}

async function start(attacker: Peer): Promise<void> {
  const { error } = await attacker.ask<{ error?: string }>({ kind: "start" });
  if (error) throw new Error(`An attack could not begin: ${error}`);
}

/** Prepares attacks by one workspace, each in its own process. */
async function prepare(
  environment: Environment,
  operator: Operator,
  urls: readonly string[],
  attacks: readonly Attack[],
  started: (peer: Peer) => Peer,
): Promise<Peer[]> {
  if (attacks.length === 0) return [];
  const workspace = await operator.createWorkspace("Attacker", planOf(attacks));
  const options: AttackerOptions = { urls, key: workspace.key, workspaceId: workspace.uuid, connection: environment.connection };
  const attackers: Peer[] = [];
  for (const attack of attacks) {
    const attacker = started((await Peer.start("attacker", {}, { ownSession: true })).peer);
    const { error } = await attacker.ask<{ error?: string }>({ kind: "prepare", attack: attack.number, options });
    if (error) throw new Error(`Attack ${attack.number} could not be prepared: ${error}`);
    attackers.push(attacker);
  }
  await operator.limit(workspace, attacks);
  return attackers;
}
