import type { TidemillError } from "../error.ts";

/** What jobs or runs are taken from. */
export interface Source {
  readonly kind: "queue" | "workflow";
  readonly name: string;
}

/** The queues and workflows of a call. With none, it takes nothing. */
export interface RequestedSources {
  readonly queues: string[];
  readonly workflows?: string[];
}

/** How long a queue or workflow that the service refuses is skipped. Milliseconds. */
const LEFT_OUT_MS = 30_000;

/** The queues and workflows of a worker, and which of them the service refuses. */
export class Sources {
  readonly #all: readonly Source[];
  /** When refused sources are tried again. */
  readonly #againMs = new Map<Source, number>();

  constructor(queues: Iterable<string>, workflows: Iterable<string>) {
    this.#all = [...named("queue", queues), ...named("workflow", workflows)];
  }

  /** The sources that are not refused. */
  get accepted(): RequestedSources {
    return asked(this.#all.filter((source) => !this.#againMs.has(source)));
  }

  /** The sources that are not refused, and those to try again. */
  due(nowMs: number): RequestedSources {
    return asked(this.#all.filter((source) => (this.#againMs.get(source) ?? 0) <= nowMs));
  }

  /** Whether a refused source is to be tried again. */
  isDue(nowMs: number): boolean {
    return this.#againMs.size > 0 && this.untilDueMs(nowMs) === 0;
  }

  /** How long until a refused source is tried again. Milliseconds. */
  untilDueMs(nowMs: number): number {
    return Math.max(0, Math.min(...this.#againMs.values()) - nowMs);
  }

  /** Skips a source for a while. Returns whether it was accepted before. */
  refuse({ kind, name }: Source, nowMs: number): boolean {
    const source = this.#all.find((one) => one.kind === kind && one.name === name);
    if (!source) return false;
    const isNew = !this.#againMs.has(source);
    this.#againMs.set(source, nowMs + LEFT_OUT_MS);
    return isNew;
  }

  /** Records that the service has accepted these sources. Returns those that were refused before. */
  accept({ queues, workflows = [] }: RequestedSources): Source[] {
    const back = [...this.#againMs.keys()].filter(({ kind, name }) => (kind === "queue" ? queues : workflows).includes(name));
    for (const source of back) this.#againMs.delete(source);
    return back;
  }
}

const named = (kind: Source["kind"], names: Iterable<string>): Source[] => Array.from(names, (name) => ({ kind, name }));

function asked(sources: readonly Source[]): RequestedSources {
  const workflows = sources.flatMap(({ kind, name }) => (kind === "workflow" ? [name] : []));
  return { queues: sources.flatMap(({ kind, name }) => (kind === "queue" ? [name] : [])), ...(workflows.length > 0 && { workflows }) };
}

export const isEmpty = ({ queues, workflows = [] }: RequestedSources): boolean => queues.length + workflows.length === 0;

/** The queue or workflow for which the service refuses a call; null if it refuses it for something else. */
export function refusedSource({ code, details }: TidemillError, { queues, workflows = [] }: RequestedSources): Source | null {
  const { resource, name, queue, workflow } = details as Partial<Record<string, unknown>>;
  if (code === "NOT_FOUND" && resource === "queue" && isOneOf(queues, name)) return { kind: "queue", name };
  if (code === "NOT_FOUND" && resource === "workflow" && isOneOf(workflows, name)) return { kind: "workflow", name };
  if (code !== "INVALID_STATE" && code !== "FORBIDDEN") return null;
  if (isOneOf(queues, queue)) return { kind: "queue", name: queue };
  return isOneOf(workflows, workflow) ? { kind: "workflow", name: workflow } : null;
}

const isOneOf = (names: readonly string[], name: unknown): name is string => names.includes(name as string);
