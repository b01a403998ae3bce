import { LIMITS } from "@tidemill/contract";
import { type Attempt, AttemptDeadline, type AttemptResult, type Deliverer } from "#engine";
import { type Claim, showJobId } from "#jobs";
import { ProblemError, type SlicedWork } from "#kernel";
import { type AddressGuard, BlockedAddressError, PrivateNameError, type Resolution, type Response } from "#outbound";
import type { Redactor } from "#redaction";
import { SecretError } from "#vault";
import type { CallPayload } from "#workflows";
import { type CallContent, type CallTemplates, callHeaders, readCallTemplates } from "./call-request.ts";
import { readCallResponse } from "./call-response.ts";
import { CallbackTimeoutError } from "./classify.ts";
import type { DelivererOptions } from "./deliverer.ts";
import { PostponedReports } from "./postponed-reports.ts";
import { POSTPONE_MS, postponementOf } from "./postponement.ts";
import { RequestContentError } from "./request-content-error.ts";

export interface CallDelivererOptions extends Omit<DelivererOptions, "endpoints" | "shares"> {
  readonly guard: Pick<AddressGuard, "refusesHost">;
  /** Whether the run of a call waits for it. It may have ended while the call was locked, so that the call was not withdrawn. */
  readonly isWanted: (claim: Claim) => Promise<boolean>;
  readonly shares: DelivererOptions["shares"] & { readonly payloadMemory: PayloadMemory };
}

/** The node's memory for payloads, which workspaces share. */
interface PayloadMemory {
  tryTake(workspaceId: Claim["workspaceId"], characters: number): boolean;
  release(workspaceId: Claim["workspaceId"], characters: number): void;
}

/** A response of up to this many bytes is not counted against its workspace, like those of callbacks. */
const UNCOUNTED_BYTES = LIMITS.resultBytes;

/** The workspace has no room for a long response. */
class ResponseMemoryError extends Error {}

/** Makes HTTP calls for steps of runs: one request per attempt. Source: contract §11, `step.http`. */
export class CallDeliverer implements Deliverer {
  readonly #options: CallDelivererOptions;
  readonly #reports: PostponedReports;
  readonly #running = new Set<HttpCall>();

  constructor(options: CallDelivererOptions) {
    this.#options = options;
    this.#reports = new PostponedReports(options.clock, options.emit);
  }

  start(claim: Claim): Attempt {
    const call = new HttpCall(claim, this.#options, (error) => this.#reports.report(error));
    this.#running.add(call);
    const result = call.make().finally(() => this.#running.delete(call));
    return { result, abort: () => call.abort() };
  }

  enforceDeadlines(stalledMs: number): void {
    const nowMs = this.#options.clock.elapsedMs();
    for (const call of this.#running) call.endIfOverdue(nowMs, stalledMs);
  }
}

class HttpCall {
  readonly #claim: Claim;
  readonly #options: CallDelivererOptions;
  readonly #onPostponed: (error: unknown) => void;
  readonly #aborted = Promise.withResolvers<AttemptResult>();
  /** Aborted when the attempt is. */
  readonly #withdrawn = new AbortController();
  #endRequest: ((reason: Error) => void) | undefined;
  #work: SlicedWork<unknown> | undefined;
  #redactor: Redactor | null = null;
  #host: string | undefined;
  #counted = 0;
  readonly #deadline = new AttemptDeadline();

  constructor(claim: Claim, options: CallDelivererOptions, onPostponed: (error: unknown) => void) {
    this.#claim = claim;
    this.#options = options;
    this.#onPostponed = onPostponed;
  }

  async make(): Promise<AttemptResult> {
    const made = this.#attempt().catch((error: unknown) => this.#resultOfError(error));
    try {
      return await Promise.race([made, this.#aborted.promise]);
    } finally {
      const { shares, hosts } = this.#options;
      if (this.#work) shares.loopTime.drop(this.#work);
      if (this.#host !== undefined) hosts.end(this.#host);
      if (this.#counted > 0) shares.payloadMemory.release(this.#claim.workspaceId, this.#counted);
    }
  }

  abort(): void {
    const reason = new Error("The attempt was aborted.");
    this.#aborted.resolve({ kind: "withdrawn" });
    this.#withdrawn.abort(reason);
    this.#endRequest?.(reason);
  }

  endIfOverdue(nowMs: number, stalledMs: number): void {
    if (this.#deadline.isOver(nowMs, stalledMs)) this.#endRequest?.(new CallbackTimeoutError("The response did not come in time."));
  }

  async #attempt(): Promise<AttemptResult> {
    const isWanted = await this.#options.isWanted(this.#claim).catch((error: unknown) => this.#postpone(error));
    if (isWanted !== true) return isWanted || { kind: "withdrawn" };
    const payload = JSON.parse(this.#claim.payload) as CallPayload;
    const templates = await this.#inSlices(this.#claim.payload.length, readCallTemplates(payload));
    return this.#read(await this.#send(payload, templates));
  }

  async #send(payload: CallPayload, templates: CallTemplates): Promise<Response> {
    const { names, guard } = this.#options;
    const { host } = templates;
    if (guard.refusesHost(host)) return { kind: "failed", error: new BlockedAddressError(host, host), unsent: true };
    const resolution = await names.resolve(this.#claim.workspaceId, host);
    if (resolution.kind === "failed") return resolution;
    this.#withdrawn.signal.throwIfAborted();
    this.#use(host, resolution);
    const content = await this.#fill(payload, templates);
    this.#withdrawn.signal.throwIfAborted();
    return this.#request(payload, templates, content);
  }

  #use(host: string, { addresses }: Extract<Resolution, { kind: "found" }>): void {
    this.#host = host;
    this.#options.hosts.begin(host, addresses);
  }

  /** The content with its secrets filled in. From here on, the redactor removes these secrets from what is kept of the response. */
  async #fill({ runId, workflow }: CallPayload, { host, secrets: names, fill }: CallTemplates): Promise<CallContent> {
    const { workspaceId, attempt, payload } = this.#claim;
    if (names.length === 0) return this.#inSlices(payload.length, fill(new Map()));
    const use = { workspaceId, queue: null, workflow, host, jobId: runId, attempt, names };
    const { values, redactor } = await this.#options.secrets.resolve(use, this.#withdrawn.signal);
    this.#redactor = redactor;
    return this.#inSlices(payload.length, fill(values));
  }

  #request(payload: CallPayload, { origin }: CallTemplates, { path, headers, body }: CallContent): Promise<Response> {
    const { sender, clock, version } = this.#options;
    const { method, timeoutMs } = payload.request;
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.#deadline.begin(clock.elapsedMs(), timeoutMs);
    this.#endRequest = sender.send(
      {
        method,
        origin,
        path,
        headers: callHeaders(headers, payload, version),
        body: body === null ? null : Buffer.from(body),
        maxBodyBytes: LIMITS.payloadBytes,
        onLength: (bytes) => this.#count(bytes),
      },
      resolve,
    );
    return promise;
  }

  /** Counts the memory that a response takes against its workspace. */
  #count(bytes: number): Error | null {
    const more = bytes - UNCOUNTED_BYTES - this.#counted;
    if (more <= 0) return null;
    if (!this.#options.shares.payloadMemory.tryTake(this.#claim.workspaceId, more)) return new ResponseMemoryError("There is no room.");
    this.#counted += more;
    return null;
  }

  async #read(response: Response): Promise<AttemptResult> {
    const error = response.kind === "failed" ? response.error : null;
    if (error instanceof PrivateNameError) {
      this.#options.emit("callback_blocked", { jobId: showJobId(this.#claim.id), address: error.address, error });
    }
    if (error instanceof ResponseMemoryError) return { kind: "postponed", waitMs: POSTPONE_MS };
    const postponement = postponementOf(error);
    if (postponement) {
      this.#onPostponed(error);
      return postponement;
    }
    const characters = response.kind === "responded" ? (response.body?.length ?? 0) : 0;
    const cost = this.#redactor ? Number.POSITIVE_INFINITY : characters;
    return this.#inSlices(cost, readCallResponse(response, this.#options.clock.nowMs(), this.#redactor));
  }

  #postpone(error: unknown): Extract<AttemptResult, { kind: "postponed" }> {
    this.#onPostponed(error);
    return { kind: "postponed", waitMs: POSTPONE_MS };
  }

  #resultOfError(error: unknown): AttemptResult {
    const common = { kind: "callFailed", status: null, retryAfterSeconds: null } as const;
    if (this.#withdrawn.signal.aborted) return { kind: "withdrawn" };
    if (error instanceof SecretError) return { ...common, code: error.code, message: error.message, forGood: false };
    if (error instanceof RequestContentError) return { ...common, code: "TEMPLATE_INVALID", message: error.message, forGood: true };
    if (error instanceof ProblemError) return { kind: "postponed", waitMs: POSTPONE_MS };
    throw error;
  }

  /** Runs work that takes long for a large text. It is dropped when the attempt has ended. */
  #inSlices<Result>(characters: number, work: SlicedWork<Result>): Result | Promise<Result> {
    const result = this.#options.shares.loopTime.run(this.#claim.workspaceId, characters, work);
    if (result instanceof Promise) this.#work = work;
    return result;
  }
}
