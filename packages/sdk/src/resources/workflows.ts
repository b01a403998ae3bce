import type {
  ListJournals,
  ListWorkflows,
  PutWorkflow,
  RunJournal,
  Triggered,
  TriggerWorkflow,
  Workflow,
  WorkflowWithSecret,
} from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** Workflows, whose runs workers execute, or a program at their `endpoint_url`. */
export class Workflows {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(page: ListWorkflows = {}, call?: CallOptions): List<Workflow, ListWorkflows> {
    return this.#api.list("/v1/workflows", page, call);
  }

  /** Registers a workflow, or replaces its settings. The result has `endpoint_secret` if the service has generated one. */
  put(id: string, settings: PutWorkflow = {}, call?: CallOptions): Promise<WorkflowWithSecret> {
    return this.#api.put(pathOf("workflows", id), settings, call);
  }

  get(id: string, call?: CallOptions): Promise<Workflow> {
    return this.#api.get(pathOf("workflows", id), call);
  }

  /** Deletes a workflow with its runs. */
  delete(id: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("workflows", id), call);
  }

  /** Its runs that have begun and have not ended, with their journals. */
  journals(id: string, page: ListJournals = {}, call?: CallOptions): List<RunJournal, ListJournals> {
    return this.#api.list(pathOf("workflows", id, "journals"), page, call);
  }

  /** Starts a run. Without an `idempotencyKey` it gets one for this call, so that a retry starts no second run. */
  async trigger(id: string, trigger: TriggerWorkflow = {}, call?: CallOptions): Promise<Triggered> {
    const body = { ...trigger, idempotencyKey: trigger.idempotencyKey ?? crypto.randomUUID() };
    const started = await this.#api.postRepeatably<Triggered>(pathOf("workflows", id, "trigger"), body, call);
    // A generated key is known only if an earlier try of this call has started the run.
    return trigger.idempotencyKey === undefined ? { ...started, duplicate: false } : started;
  }
}
