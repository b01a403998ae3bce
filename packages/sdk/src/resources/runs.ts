import type {
  Invoked,
  InvokeWorkflow,
  JournalPage,
  ListedRun,
  ListRuns,
  ReadJournal,
  RegisteredSignal,
  RegisterSignal,
  ReportedSteps,
  Run,
  RunEvent,
  RunExplanation,
  SendStepEvent,
  StepEventSent,
  StepReports,
  StepReportsStored,
  StepsStored,
} from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";
import { RUN } from "../response-shapes.ts";
import { watchRun } from "../watch/watch-run.ts";

/** Runs of workflows. */
export class Runs {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListRuns = {}, call?: CallOptions): List<ListedRun, ListRuns> {
    return this.#api.list("/v1/runs", filter, call);
  }

  /** A run with its data and its journal. */
  get(id: string, call?: CallOptions): Promise<Run> {
    return this.#api.get(pathOf("runs", id), call);
  }

  /** Why a run is not being executed, and when it is expected to be. */
  explain(id: string, call?: CallOptions): Promise<RunExplanation> {
    return this.#api.get(pathOf("runs", id, "explain"), call);
  }

  /** A part of the journal of a run, for a program that executes it. */
  journal(id: string, query: ReadJournal, call?: CallOptions): Promise<JournalPage> {
    return this.#api.get(pathOf("runs", id, "journal"), call, query);
  }

  /**
   * Follows a run until it has ended: first the run, then each change of its steps, progress and status. Intermediate changes may be left
   * out. When the connection breaks, it reconnects and continues after the last event.
   *
   * ```ts
   * for await (const event of tidemill.runs.watch(id)) if (event.type === "progress") console.log(event.progress);
   * ```
   */
  watch(id: string, call?: CallOptions): AsyncGenerator<RunEvent, void> {
    return watchRun(this.#api.transport, id, call);
  }

  cancel(id: string, call?: CallOptions): Promise<Run> {
    return this.#api.post(pathOf("runs", id, "cancel"), undefined, call, RUN);
  }

  /** Lets a failed or cancelled run continue from its journal, with fresh attempts. */
  retry(id: string, call?: CallOptions): Promise<Run> {
    return this.#api.post(pathOf("runs", id, "retry"), undefined, call, RUN);
  }

  /** Stores steps of a run that is being executed. The call may be repeated. */
  reportSteps(id: string, steps: ReportedSteps, call?: CallOptions): Promise<StepsStored> {
    return this.#api.postRepeatably(pathOf("runs", id, "steps"), steps, call);
  }

  /**
   * Stores steps of several runs that are being executed. Each report is stored or refused independently of the others. The call may be
   * repeated.
   */
  reportStepsOfRuns(reports: StepReports, call?: CallOptions): Promise<StepReportsStored> {
    return this.#api.postRepeatably("/v1/work/steps", reports, call);
  }

  /** Sends the event of a step, for a worker that executes the run. The call may be repeated. */
  sendEvent(id: string, event: SendStepEvent, call?: CallOptions): Promise<StepEventSent> {
    return this.#api.postRepeatably(pathOf("runs", id, "events"), event, call);
  }

  /** Registers the signal of a step, for a worker that executes the run. The call may be repeated. */
  registerSignal(id: string, signal: RegisterSignal, call?: CallOptions): Promise<RegisteredSignal> {
    return this.#api.postRepeatably(pathOf("runs", id, "signals"), signal, call);
  }

  /** Invokes a workflow for a step, for a worker that executes the run. The call may be repeated. */
  invoke(id: string, invocation: InvokeWorkflow, call?: CallOptions): Promise<Invoked> {
    return this.#api.postRepeatably(pathOf("runs", id, "invocations"), invocation, call);
  }
}
