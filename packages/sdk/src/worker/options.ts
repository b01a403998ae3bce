import { LIMITS } from "@tidemill/contract/limits";
import { checkNames } from "../check-names.ts";
import { elapsedMs } from "../clock.ts";
import { isDevelopment, processId, readVariable } from "../environment.ts";
import { givenText } from "../given-text.ts";
import { milliseconds, readOptions, type Settings, type TidemillOptions } from "../options.ts";
import { randomName } from "../random.ts";
import { checkSchema, type StandardSchema } from "../schema.ts";
import type { AnyWorkflow } from "../workflow/workflow.ts";
import type { WorkerJob } from "./job.ts";
import { checkLogger, type Logger, withFields } from "./logger.ts";

/** Runs a job. What it returns is stored as the job's result: any JSON value of at most 64 KiB. What it throws fails the attempt. */
// biome-ignore lint/suspicious/noExplicitAny: handlers of different payloads are in one list.
export type Handler<Payload = any> = (job: WorkerJob<Payload>) => unknown;

/** A handler with the schema of its payloads. */
export interface QueueHandler<Output> {
  readonly handler: Handler<Output>;
  /** Checks each payload, and gives it its type. A payload that does not fit fails its job immediately, without a retry. */
  readonly schema: StandardSchema<unknown, Output>;
}

/** Settings of a worker. */
export interface WorkerOptions extends Pick<TidemillOptions, "url" | "key" | "fetch"> {
  /** The handler of each queue, by the queue's name. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly queues?: Readonly<Record<string, Handler | QueueHandler<any>>>;
  /** The workflows whose runs the worker executes. */
  readonly workflows?: readonly AnyWorkflow[];
  /** How many jobs and runs are executed at the same time. 10 by default. */
  readonly concurrency?: number;
  /** The worker's name in lists and logs. Default: a name made of the host and the process. */
  readonly name?: string;
  /**
   * Version of the code. It is shown in lists, and runs that this worker starts get it. Default: the workflows' version, if it is the same
   * for all.
   */
  readonly version?: string;
  /**
   * Replays the journal of a run after each step, without executing steps, and fails the run if the replay differs: so a workflow that is
   * not deterministic is noticed in its first run. A run whose workflow returns without awaiting its steps fails, too. Code outside of
   * steps runs once more for each step. For development; on by default if `NODE_ENV` is `development`, or is not set and the worker runs in
   * a terminal.
   */
  readonly replayEachStep?: boolean;
  /** How long a job or run stays with a worker that has died. Seconds; 30 by default. While it is executed, its lease is extended. */
  readonly leaseSeconds?: number;
  /**
   * How long a stop may take. Milliseconds; 30,000 by default. In the last 5 s, or in the last half if that is less, the signals of jobs
   * and runs that are still executed are aborted. Then those that have not ended are released. At the end, the worker gives up what it
   * could not report.
   */
  readonly stopTimeoutMs?: number;
  /** Signals that stop the worker, where the runtime has them; a second one ends the process at once. SIGTERM and SIGINT by default. */
  readonly signals?: readonly string[];
  readonly logger?: Logger;
}

type ReadHandler = QueueHandler<unknown> | { readonly handler: Handler; readonly schema?: undefined };

export interface WorkerSettings extends Settings {
  readonly handlers: ReadonlyMap<string, ReadHandler>;
  readonly workflows: ReadonlyMap<string, AnyWorkflow>;
  readonly concurrency: number;
  readonly name: string;
  readonly version: string | undefined;
  readonly replayEachStep: boolean;
  readonly leaseSeconds: number;
  readonly stopTimeoutMs: number;
  readonly signals: readonly string[];
  readonly logger: Logger;
  /** Milliseconds since any moment. */
  readonly elapsedMs: () => number;
}

const OPTIONS = {
  url: true,
  key: true,
  fetch: true,
  queues: true,
  workflows: true,
  concurrency: true,
  name: true,
  version: true,
  replayEachStep: true,
  leaseSeconds: true,
  stopTimeoutMs: true,
  signals: true,
  logger: true,
} satisfies Record<keyof WorkerOptions, true>;
const HANDLER_OPTIONS = { handler: true, schema: true } satisfies Record<keyof QueueHandler<unknown>, true>;

const MAX_CONCURRENCY = 10_000;
const QUEUE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const UNCATCHABLE = new Set(["SIGKILL", "SIGSTOP"]);

/** @throws {TypeError} naming the option that is missing or wrong */
export function readWorkerOptions(options: WorkerOptions): WorkerSettings {
  checkNames("Worker", options, OPTIONS);
  const { url, key, fetch } = options;
  const settings = readOptions({ ...(url !== undefined && { url }), ...(key !== undefined && { key }), ...(fetch && { fetch }) });
  const entries = Object.entries(options.queues ?? {});
  if (entries.length > LIMITS.workQueues)
    throw new TypeError(`queues may have at most ${LIMITS.workQueues} entries, not ${entries.length}.`);
  const workflows = readWorkflows(options.workflows ?? []);
  if (entries.length === 0 && workflows.size === 0)
    throw new TypeError("Pass a handler for at least one queue in queues, or at least one workflow in workflows.");
  return {
    ...settings,
    handlers: new Map(entries.map(([queue, one]) => [queue, readHandler(queue, one)])),
    workflows,
    concurrency: whole("concurrency", options.concurrency ?? 10, MAX_CONCURRENCY),
    name: text("name", options.name ?? defaultName(), LIMITS.workerNameLength),
    version: readVersion(options.version ?? commonVersion(workflows)),
    replayEachStep: flag("replayEachStep", options.replayEachStep ?? isDevelopment()),
    leaseSeconds: whole("leaseSeconds", options.leaseSeconds ?? 30, LIMITS.leaseSeconds),
    stopTimeoutMs: milliseconds("stopTimeoutMs", options.stopTimeoutMs ?? 30_000, 0),
    signals: readSignals(options.signals ?? ["SIGTERM", "SIGINT"]),
    logger: withFields(checkLogger(options.logger ?? console), {}),
    elapsedMs,
  };
}

/** @throws {TypeError} for a list of something else, or with two workflows of one id */
export function readWorkflows(workflows: readonly AnyWorkflow[]): ReadonlyMap<string, AnyWorkflow> {
  if (!Array.isArray(workflows) || workflows.some((one) => typeof one?.program !== "function"))
    throw new TypeError("workflows must be a list of what workflow() returns.");
  if (workflows.length > LIMITS.workWorkflows)
    throw new TypeError(`workflows may have at most ${LIMITS.workWorkflows} entries, not ${workflows.length}.`);
  const byId = new Map(workflows.map((one) => [one.id, one]));
  if (byId.size < workflows.length) throw new TypeError("workflows must have different ids.");
  return byId;
}

function commonVersion(workflows: ReadonlyMap<string, AnyWorkflow>): string | undefined {
  const [version, ...others] = new Set([...workflows.values()].map(({ options }) => options.version));
  return others.length === 0 ? version : undefined;
}

function readHandler(queue: string, one: unknown): ReadHandler {
  const found: ReadHandler = typeof one === "function" ? { handler: one as Handler } : (one as QueueHandler<unknown>);
  if (!QUEUE_NAME.test(queue))
    throw new TypeError(`${JSON.stringify(queue)} is not a valid queue name. Use letters, digits, dots, hyphens and underscores.`);
  if (typeof found?.handler !== "function") throw new TypeError(`queues.${queue} must be a function, or an object with a handler.`);
  // Objects of a class may have members of their own.
  if (Object.getPrototypeOf(found) === Object.prototype) checkNames(`queues.${queue}`, found, HANDLER_OPTIONS);
  checkSchema(`queues.${queue}.schema`, found.schema);
  return found;
}

function readSignals(signals: readonly string[]): readonly string[] {
  const isRefused = (signal: unknown) => typeof signal !== "string" || !/^SIG[A-Z0-9]+$/.test(signal) || UNCATCHABLE.has(signal);
  if (Array.isArray(signals) && !signals.some(isRefused)) return signals;
  throw new TypeError(`signals must be a list of signals such as "SIGTERM" that a process can catch, not ${givenText(signals)}.`);
}

const readVersion = (version: string | undefined) => (version === undefined ? undefined : text("version", version, 64));

function flag(name: string, value: boolean): boolean {
  if (typeof value === "boolean") return value;
  throw new TypeError(`${name} must be true or false, not ${givenText(value)}.`);
}

function text(name: string, value: string, max: number): string {
  if (typeof value === "string" && value !== "" && value.length <= max && value.isWellFormed() && !/\0/.test(value)) return value;
  throw new TypeError(`${name} must be a string of 1 to ${max} characters, not ${givenText(value)}.`);
}

function whole(name: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new TypeError(`${name} must be a whole number from 1 to ${max}, not ${givenText(value)}.`);
}

const defaultName = (): string =>
  [readVariable("HOSTNAME")?.slice(0, 64) ?? "worker", processId(), randomName()].filter((part) => part !== undefined).join("-");
