import type {
  ListJournals,
  ListWorkflows,
  PutWorkflow,
  RunJournal,
  Triggered,
  TriggeredMany,
  TriggerWorkflow,
  Workflow,
  WorkflowWithSecret,
} from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import { checkObject } from "../check-names.ts";
import { durationsAsNumbers, type TriggerOptions } from "../delays.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";
import { ENTITY, type Shape, TRIGGERED, TRIGGERED_MANY } from "../response-shapes.ts";
import { TriggerBatcher } from "../workflow/trigger-batcher.ts";

/** Workflows. Their runs are executed by workers, or by a program at their `endpoint_url`. */
export class Workflows {
  readonly #api: Api;
  readonly #batchers = new Map<string, TriggerBatcher>();

  constructor(api: Api) {
    this.#api = api;
  }

  list(page: ListWorkflows = {}, call?: CallOptions): List<Workflow, ListWorkflows> {
    return this.#api.list("/v1/workflows", page, call);
  }

  /** Registers a workflow, or replaces its settings. The result has `endpoint_secret` if the service has generated one. */
  put(id: string, settings: PutWorkflow = {}, call?: CallOptions): Promise<WorkflowWithSecret> {
    return this.#api.put(pathOf("workflows", id), settings, call, ENTITY);
  }

  get(id: string, call?: CallOptions): Promise<Workflow> {
    return this.#api.get(pathOf("workflows", id), call);
  }

  /** Deletes a workflow with its runs. */
  delete(id: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("workflows", id), call);
  }

  /** The runs of a workflow that have begun and have not ended, with their journals. */
  journals(id: string, page: ListJournals = {}, call?: CallOptions): List<RunJournal, ListJournals> {
    return this.#api.list(pathOf("workflows", id, "journals"), page, call);
  }

  /**
   * Starts a run. Without an `idempotencyKey` it gets one for this call, so that a retry starts no second run.
   * Triggers of one workflow that are sent at the same time share requests, unless `call` is given.
   */
  async trigger(id: string, trigger: TriggerOptions = {}, call?: CallOptions): Promise<Triggered> {
    const body = { ...durationsAsNumbers<TriggerWorkflow>(trigger), idempotencyKey: trigger.idempotencyKey ?? crypto.randomUUID() };
    const started = await (call || !this.#api.transport.settings.batching
      ? this.#api.postRepeatably<Triggered>(pathOf("workflows", id, "trigger"), body, call, TRIGGERED)
      : this.#batcherOf(id).add(body));
    // A generated key is known only if an earlier try of this call has started the run.
    return trigger.idempotencyKey === undefined ? { ...started, duplicate: false } : started;
  }

  /** Starts many runs. Each trigger starts its run or is refused, independently of the others. Triggers with keys may be repeated. */
  async triggerMany(id: string, { triggers }: { triggers: readonly TriggerOptions[] }, call?: CallOptions): Promise<TriggeredMany> {
    if (!Array.isArray(triggers)) throw new TypeError("triggerMany needs { triggers }, an array of triggers.");
    const sent = (triggers as readonly TriggerOptions[]).map((trigger, at) => {
      checkObject(`triggers[${at}]`, trigger);
      return durationsAsNumbers<TriggerWorkflow>(trigger, `triggers[${at}]`);
    });
    return this.#api.post(pathOf("workflows", id, "trigger", "batch"), { triggers: sent }, call, TRIGGERED_MANY);
  }

  #batcherOf(id: string): TriggerBatcher {
    const known = this.#batchers.get(id);
    if (known) return known;
    const post = <Response>(path: string, body: string, shape: Shape) =>
      this.#api.transport.request({ method: "POST", path, body, repeatable: true, shape }) as Promise<Response>;
    const calls = {
      one: (body: string) => post<Triggered>(pathOf("workflows", id, "trigger"), body, TRIGGERED),
      many: (body: string) => post<TriggeredMany>(pathOf("workflows", id, "trigger", "batch"), body, TRIGGERED_MANY),
    };
    const batcher = new TriggerBatcher(calls, () => this.#batchers.delete(id));
    this.#batchers.set(id, batcher);
    return batcher;
  }
}
