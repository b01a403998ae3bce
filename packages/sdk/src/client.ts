import type {
  Changes,
  ChangesQuery,
  CompletedSignal,
  LiveEvent,
  Metrics,
  MetricsQuery,
  Status,
  Usage,
  UsageQuery,
} from "@tidemill/contract";
import { Api } from "./api.ts";
import { checkNames } from "./check-names.ts";
import { EnqueueBatcher } from "./enqueue/enqueue-batcher.ts";
import { type CallOptions, readOptions, type TidemillOptions } from "./options.ts";
import { Queue } from "./queue.ts";
import { AllJobs } from "./resources/all-jobs.ts";
import { Approvals } from "./resources/approvals.ts";
import { AuditEvents } from "./resources/audit-events.ts";
import { DeadLetters } from "./resources/dead-letters.ts";
import { Deploys } from "./resources/deploys.ts";
import { Events } from "./resources/events.ts";
import { Invitations } from "./resources/invitations.ts";
import { Keys } from "./resources/keys.ts";
import { Members } from "./resources/members.ts";
import { Operations } from "./resources/operations.ts";
import { Queues } from "./resources/queues.ts";
import { Runs } from "./resources/runs.ts";
import { Schedules } from "./resources/schedules.ts";
import { Secrets } from "./resources/secrets.ts";
import { Signals } from "./resources/signals.ts";
import { Webhooks } from "./resources/webhooks.ts";
import { Workers } from "./resources/workers.ts";
import { Workflows } from "./resources/workflows.ts";
import { checkSchema, type StandardSchema } from "./schema.ts";
import { Transport } from "./transport.ts";
import { watchWorkspace } from "./watch/watch-workspace.ts";
import { checkSignal, type SignalDefinition } from "./workflow/signal.ts";

/** Settings of a queue's handle. */
export interface QueueOptions<Payload> {
  /** Checks payloads before they are sent, and gives them their type. */
  readonly schema?: StandardSchema<Payload> | undefined;
}

const QUEUE_OPTIONS = { schema: true } satisfies Record<keyof QueueOptions<unknown>, true>;

/**
 * A client of one workspace.
 *
 * ```ts
 * const tidemill = new Tidemill({ url: "http://127.0.0.1:8080", key: "svc_ws_…" });
 * const job = await tidemill.queue<{ to: string }>("emails").enqueue({ to: "ada@example.com" });
 * ```
 *
 * All methods reject with a `TidemillError`, or with the reason of the signal that ended the call.
 */
export class Tidemill {
  readonly queues: Queues;
  readonly jobs: AllJobs;
  readonly operations: Operations;
  readonly approvals: Approvals;
  readonly deadLetters: DeadLetters;
  readonly deploys: Deploys;
  readonly schedules: Schedules;
  readonly secrets: Secrets;
  readonly keys: Keys;
  readonly members: Members;
  readonly invitations: Invitations;
  readonly auditEvents: AuditEvents;
  readonly webhooks: Webhooks;
  readonly workers: Workers;
  readonly workflows: Workflows;
  readonly runs: Runs;
  readonly signals: Signals;
  readonly events: Events;
  readonly #api: Api;
  readonly #batchers = new Map<string, EnqueueBatcher>();

  /** @throws {TypeError} naming the option that is missing or wrong */
  constructor(options: TidemillOptions = {}) {
    const api = new Api(new Transport(readOptions(options)));
    this.#api = api;
    this.queues = new Queues(api);
    this.jobs = new AllJobs(api);
    this.operations = new Operations(api);
    this.approvals = new Approvals(api);
    this.deadLetters = new DeadLetters(api);
    this.deploys = new Deploys(api);
    this.schedules = new Schedules(api);
    this.secrets = new Secrets(api);
    this.keys = new Keys(api);
    this.members = new Members(api);
    this.invitations = new Invitations(api);
    this.auditEvents = new AuditEvents(api);
    this.webhooks = new Webhooks(api);
    this.workers = new Workers(api);
    this.workflows = new Workflows(api);
    this.runs = new Runs(api);
    this.signals = new Signals(api);
    this.events = new Events(api);
  }

  /**
   * A handle on a queue, to enqueue jobs. Nothing is sent yet: the queue need not exist.
   *
   * @throws {TypeError} for an unknown option, and when `schema` is not a schema
   */
  queue<Payload = unknown>(name: string, options: QueueOptions<Payload> = {}): Queue<Payload> {
    checkNames("a queue", options, QUEUE_OPTIONS);
    const { schema } = options;
    checkSchema("schema", schema);
    return new Queue(this.#api, name, { schema, batcher: (queue) => this.#batcherOf(queue) });
  }

  /**
   * Completes a signal of a workflow: the run that waits for it continues. A signal can be completed once.
   *
   * ```ts
   * await tidemill.signal(onboard.signals.approval, `approve.${userId}`, { ok: true });
   * ```
   *
   * @param of the kind of signal, which gives the payload its type
   * @param id as the workflow chose it
   * @throws {TypeError} when `of` was not made by `signal()`; otherwise like `signals.complete`
   */
  signal<Payload>(of: SignalDefinition<Payload>, id: string, payload: NoInfer<Payload>, call?: CallOptions): Promise<CompletedSignal> {
    checkSignal("The first argument of signal", of);
    return this.signals.complete(id, payload, { of, ...call });
  }

  /** The workspace's health, and what is left of its quota and its request rate. */
  status(call?: CallOptions): Promise<Status> {
    return this.#api.get("/v1/status", call);
  }

  /** Executions and attempts of a month. */
  usage(query: UsageQuery = {}, call?: CallOptions): Promise<Usage> {
    return this.#api.get("/v1/usage", call, query);
  }

  /** What happened over time, in one queue or in all of them. */
  metrics(query: MetricsQuery = {}, call?: CallOptions): Promise<Metrics> {
    return this.#api.get("/v1/metrics", call, query);
  }

  /** What changed: deploys, circuits, pauses and settings. */
  changes(query: ChangesQuery = {}, call?: CallOptions): Promise<Changes> {
    return this.#api.get("/v1/changes", call, query);
  }

  /**
   * Watches the workspace for changes: yields the kinds of records that have changed, at most once a second. It reconnects when the
   * connection breaks.
   *
   * ```ts
   * for await (const event of tidemill.live({ signal })) {
   *   if (event.type === "connected" || event.kinds.includes("jobs")) await showJobs();
   * }
   * ```
   */
  live(call?: CallOptions): AsyncGenerator<LiveEvent, void> {
    return watchWorkspace(this.#api.transport, call);
  }

  #batcherOf(queue: string): EnqueueBatcher | null {
    if (!this.#api.transport.settings.batching) return null;
    const known = this.#batchers.get(queue);
    if (known) return known;
    // An application may have a queue for each of its customers, so queues that are not in use are dropped.
    const batcher = new EnqueueBatcher(this.#api.transport, queue, () => this.#batchers.delete(queue));
    this.#batchers.set(queue, batcher);
    return batcher;
  }
}
