import { LIMITS } from "@tidemill/contract";
import { CallbackTimeoutError, POSTPONE_MS, postponementOf, signedHeaders } from "#callbacks";
import { type Attempt, AttemptDeadline, type AttemptMemory, type AttemptResult } from "#engine";
import type { Claim } from "#jobs";
import { type Clock, type EmitEvent, encodeParts, ProblemError, type Shares, type SlicedWork } from "#kernel";
import {
  type Abort,
  BlockedAddressError,
  type HostsInUse,
  type Names,
  PrivateNameError,
  type Response,
  type Sender,
  sign,
} from "#outbound";
import type { TextRedactor } from "#redaction";
import { showWorkId } from "#workers";
import type { WorkflowEndpoint, WorkflowEndpoints } from "./endpoint.ts";
import type { Program } from "./program.ts";
import { readResponse } from "./read-response.ts";

export interface PushOptions {
  readonly program: Program;
  readonly endpoints: WorkflowEndpoints;
  readonly sender: Pick<Sender, "send">;
  readonly names: Pick<Names, "resolve">;
  readonly hosts: Pick<HostsInUse, "begin" | "end">;
  readonly shares: Pick<Shares, "loopTime">;
  readonly clock: Clock;
  readonly version: string;
  readonly emit: EmitEvent;
}

/** The execution was withdrawn: its response no longer counts. */
class AbortedError extends Error {
  readonly code = "ABORTED";
}

/** One execution at an endpoint. */
export class Push implements Attempt {
  readonly result: Promise<AttemptResult>;
  readonly #claim: Claim;
  readonly #memory: AttemptMemory;
  readonly #id: string;
  readonly #options: PushOptions;
  readonly #onPostponed: (error: unknown) => void;
  readonly #settled = Promise.withResolvers<AttemptResult>();
  #abort: Abort | undefined;
  /** Work that takes long. It is dropped when the attempt ends. */
  #work: SlicedWork<unknown> | undefined;
  #host: string | undefined;
  #redactor: TextRedactor | null = null;
  #hasAdvanced: () => Promise<boolean> = async () => false;
  #timeoutMs = 0;
  #ended = false;
  readonly #deadline = new AttemptDeadline();

  constructor(claim: Claim, memory: AttemptMemory, options: PushOptions, onPostponed: (error: unknown) => void) {
    this.#claim = claim;
    this.#memory = memory;
    this.#id = showWorkId(claim);
    this.#options = options;
    this.#onPostponed = onPostponed;
    this.result = this.#settled.promise;
  }

  begin(): void {
    this.#execute().catch((error: unknown) => {
      if (error instanceof ProblemError) this.#end({ kind: "postponed", waitMs: POSTPONE_MS });
      else this.#fail(error);
    });
  }

  abort(): void {
    const mayHaveBegun = this.#abort !== undefined && this.#options.program.isOnce;
    const message = "The node ended the attempt before the response came.";
    this.#end(mayHaveBegun ? { kind: "unreachable", code: "NODE_LOST", message } : { kind: "withdrawn" });
    this.#abort?.(new AbortedError("The attempt was aborted."));
  }

  endIfOverdue(nowMs: number, stalledMs: number): void {
    if (this.#deadline.isOver(nowMs, stalledMs)) this.#abort?.(new CallbackTimeoutError(this.#overdue()));
  }

  #overdue(): string {
    const { timeoutSetting } = this.#options.program;
    return `The program did not respond within ${this.#timeoutMs / 1_000} s${timeoutSetting === null ? "" : ` (${timeoutSetting})`}.`;
  }

  async #execute(): Promise<void> {
    const { endpoints, program, names } = this.#options;
    const endpoint = await endpoints.of(this.#claim);
    const timeoutMs = endpoint && program.timeoutMs(endpoint);
    if (!endpoint || timeoutMs === null) return this.#end({ kind: "withdrawn" });
    const body = await program.bodyOf(this.#claim, endpoint, timeoutMs, this.#memory);
    if (body === null) return this.#end({ kind: "withdrawn" });
    if (body.kind === "unsent") return this.#end(body.result);
    this.#redactor = body.redactor;
    if (body.hasAdvanced) this.#hasAdvanced = body.hasAdvanced;
    if (endpoint.isBlocked) return this.#receive({ kind: "failed", error: new BlockedAddressError(endpoint.host, null), unsent: true });
    const resolution = await names.resolve(this.#claim.workspaceId, endpoint.host);
    if (this.#ended) return;
    if (resolution.kind === "failed") return this.#receive(resolution);
    this.#host = endpoint.host;
    this.#options.hosts.begin(endpoint.host, resolution.addresses);
    this.#post(endpoint, encodeParts(body.text), timeoutMs);
  }

  #post(endpoint: WorkflowEndpoint, body: Buffer, timeoutMs: number): void {
    const { sender, clock, version } = this.#options;
    const { attempt, traceparent, tracestate } = this.#claim;
    // Signed when it leaves: the receiver compares the timestamp with its own clock.
    const timestamp = Math.floor(clock.nowMs() / 1000);
    const signature = sign(endpoint.key, this.#id, timestamp, body);
    this.#timeoutMs = timeoutMs;
    this.#deadline.begin(clock.elapsedMs(), timeoutMs);
    this.#abort = sender.send(
      {
        origin: endpoint.origin,
        path: endpoint.path,
        headers: {
          ...signedHeaders({ id: this.#id, attempt, timestamp, signature, version }),
          ...(traceparent !== null && { traceparent }),
          ...(tracestate !== null && { tracestate }),
        },
        body,
        maxBodyBytes: LIMITS.outcomeBytes,
      },
      (response) => this.#receive(response),
    );
  }

  #receive(response: Response): void {
    if (this.#ended) return;
    const error = response.kind === "failed" ? response.error : null;
    if (error instanceof PrivateNameError) {
      this.#options.emit("callback_blocked", { jobId: this.#id, address: error.address, error });
    }
    const postponement = postponementOf(error);
    // If the node lacked something while it read the response, the request may still have been sent.
    const mayHaveArrived = response.kind === "responded" || !response.unsent;
    if (postponement && !(this.#options.program.isOnce && mayHaveArrived)) {
      this.#onPostponed(error);
      this.#end(postponement);
    } else void this.#read(response);
  }

  async #read(response: Response): Promise<void> {
    const { shares, clock } = this.#options;
    const length = response.kind === "responded" ? (response.body?.length ?? 0) : 0;
    // Searching for secrets takes long, however short a response is.
    const characters = this.#redactor ? Number.POSITIVE_INFINITY : length;
    const work = readResponse(this.#claim.kind, response, clock.nowMs(), this.#redactor);
    this.#work = work;
    try {
      this.#end(await this.#withAdvance(await shares.loopTime.run(this.#claim.workspaceId, characters, work)));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Finds out whether steps were stored, for a result to which that matters. While nobody can tell, no attempt is used. */
  async #withAdvance(result: AttemptResult): Promise<AttemptResult> {
    try {
      switch (result.kind) {
        case "unreachable":
          return !result.unbegun && (await this.#hasAdvanced()) ? { ...result, advanced: true } : result;
        case "refused":
          return !result.forGood && !result.unbegun && (await this.#hasAdvanced()) ? { ...result, advanced: true } : result;
        case "postponed":
          return result.released === "soon" && (await this.#hasAdvanced()) ? { ...result, waitMs: 0 } : result;
        default:
          return result;
      }
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      return result.kind === "postponed" ? result : { kind: "postponed", waitMs: POSTPONE_MS };
    }
  }

  #end(result: AttemptResult): void {
    if (this.#markEnded()) this.#settled.resolve(result);
  }

  #fail(error: unknown): void {
    if (this.#markEnded()) this.#settled.reject(error);
  }

  /** Ends the attempt. Returns false when it had already ended. */
  #markEnded(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    if (this.#work) this.#options.shares.loopTime.drop(this.#work);
    if (this.#host !== undefined) this.#options.hosts.end(this.#host);
    return true;
  }
}
