import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks of `/proc` per second, on every Linux there is. */
const TICKS_PER_SECOND = 100;

/** The postmaster that has this socket directory's data open, first, and its children. Linux only. */
export function processesOfPostgres(socketDirectory: string): number[] {
  const lock = readdirSync(socketDirectory).find((name) => name.startsWith(".s.PGSQL.") && name.endsWith(".lock"));
  const postmaster = Number(readFileSync(`${socketDirectory}/${lock}`, "utf8").split("\n")[0]);
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1]));
    } catch {}
  }
  return [postmaster, ...[...parents].filter(([, parent]) => parent === postmaster).map(([pid]) => pid)];
}

/** Processor time of a process since it was started, in seconds, with all its threads. Linux only. */
export function processorOfProcess(pid: number, { withDeadChildren = false } = {}): number {
  // The second field, a name, may have spaces in it; after it come utime and stime, 12th and 13th, and those of dead children.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return fields.slice(11, withDeadChildren ? 15 : 13).reduce((sum, field) => sum + Number(field), 0) / TICKS_PER_SECOND;
}

/** Processor time of a PostgreSQL since it was started, in seconds, with that of the children that it has lost. Linux only. */
export function processorOfPostgres(socketDirectory: string): number {
  const [postmaster = 0, ...children] = processesOfPostgres(socketDirectory);
  let seconds = 0;
  for (const pid of children) {
    try {
      seconds += processorOfProcess(pid);
    } catch {
      // It has ended since: its time is the postmaster's, which is read last.
    }
  }
  return seconds + processorOfProcess(postmaster, { withDeadChildren: true });
}

/** What a node says about itself. */
interface NodeUsage {
  readonly rssBytes: number;
  readonly cpu: NodeJS.CpuUsage;
}

interface Measured {
  readonly peer: { ask<Answer>(question: object): Promise<Answer> };
}

/** Processor time of nodes together since they were started, in seconds. */
async function processorOfNodes(nodes: readonly Measured[]): Promise<number> {
  const usages = await Promise.all(nodes.map(({ peer }) => peer.ask<NodeUsage>({})));
  return usages.reduce((sum, { cpu }) => sum + (cpu.user + cpu.system) / 1e6, 0);
}

/** Processor time in seconds. */
export interface Processor {
  readonly nodes: number;
  readonly postgres: number;
}

/** That of nodes and of their PostgreSQL, until now. */
export const readProcessor = async (socketDirectory: string, nodes: readonly Measured[]): Promise<Processor> => ({
  nodes: await processorOfNodes(nodes),
  postgres: processorOfPostgres(socketDirectory),
});
