import { LIMITS } from "@tidemill/contract";
import { type Attempt, AttemptDeadline, type AttemptResult, type Deliverer } from "#engine";
import { type Claim, showDelivered, showJobId } from "#jobs";
import { type Clock, type EmitEvent, encodeParts, ProblemError, type Shares, type SlicedWork } from "#kernel";
import {
  type Abort,
  BlockedAddressError,
  type HostsInUse,
  type Names,
  PrivateNameError,
  type Resolution,
  type Response,
  type Sender,
  sign,
} from "#outbound";
import type { Redactor } from "#redaction";
import { mayHoldTemplates, type SecretAccess, SecretError } from "#vault";
import { CallbackTimeoutError, classify } from "./classify.ts";
import type { CallbackEndpoint, CallbackEndpoints } from "./endpoint.ts";
import { PostponedReports } from "./postponed-reports.ts";
import { POSTPONE_MS, postponementOf } from "./postponement.ts";
import { type RequestContent, readTemplates } from "./request-content.ts";
import { RequestContentError } from "./request-content-error.ts";
import { signedHeaders } from "./signed-request.ts";

export interface DelivererOptions {
  readonly sender: Pick<Sender, "send">;
  readonly names: Pick<Names, "resolve">;
  /** Keeps what a host was resolved to for the connection. */
  readonly hosts: Pick<HostsInUse, "begin" | "end">;
  readonly endpoints: CallbackEndpoints;
  readonly secrets: Pick<SecretAccess, "resolve">;
  readonly shares: Pick<Shares, "loopTime">;
  readonly clock: Clock;
  readonly version: string;
  readonly emit: EmitEvent;
}

const NO_SECRETS: ReadonlyMap<string, string> = new Map();

class AbortedError extends Error {
  readonly code = "ABORTED";
}

/** Delivers jobs to their handlers: one signed POST per attempt. Source: specification, Events, Callback delivery. */
export class CallbackDeliverer implements Deliverer {
  readonly #options: DelivererOptions;
  readonly #running = new Set<Callback>();
  readonly #reports: PostponedReports;

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#reports = new PostponedReports(options.clock, options.emit);
  }

  start(claim: Claim): Attempt {
    const callback: Callback = new Callback(
      claim,
      this.#options,
      () => this.#running.delete(callback),
      (error) => this.#reports.report(error),
    );
    this.#running.add(callback);
    callback.begin();
    return callback;
  }

  enforceDeadlines(stalledMs: number): void {
    const nowMs = this.#options.clock.elapsedMs();
    for (const callback of this.#running) callback.endIfOverdue(nowMs, stalledMs);
  }
}

/** A request's body, and the headers that depend on it. */
interface Signed {
  readonly body: Buffer;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly signature: string;
}

class Callback implements Attempt {
  readonly result: Promise<AttemptResult>;
  readonly #claim: Claim;
  /** The job's id as the API shows it. */
  readonly #jobId: string;
  readonly #options: DelivererOptions;
  readonly #onEnd: () => void;
  readonly #onPostponed: (error: unknown) => void;
  readonly #settled = Promise.withResolvers<AttemptResult>();
  #abort: Abort | undefined;
  /** Work that takes long. It is dropped when the attempt ends. */
  #work: SlicedWork<unknown> | undefined;
  #host: string | undefined;
  /** Created when secrets are read. */
  #withdrawn: AbortController | undefined;
  #redactor: Redactor | null = null;
  #ended = false;
  readonly #deadline = new AttemptDeadline();

  constructor(claim: Claim, options: DelivererOptions, onEnd: () => void, onPostponed: (error: unknown) => void) {
    this.#claim = claim;
    this.#jobId = showJobId(claim.id);
    this.#options = options;
    this.#onEnd = onEnd;
    this.#onPostponed = onPostponed;
    this.result = this.#settled.promise;
  }

  begin(): void {
    const endpoint = this.#options.endpoints.of(this.#claim);
    if (endpoint instanceof Promise) void this.#endOnError(async () => this.#prepare(await endpoint));
    else void this.#prepare(endpoint);
  }

  abort(): void {
    this.#end({ kind: "withdrawn" });
    const reason = new AbortedError("The attempt was aborted.");
    this.#abort?.(reason);
    this.#withdrawn?.abort(reason);
  }

  endIfOverdue(nowMs: number, stalledMs: number): void {
    if (this.#deadline.isOver(nowMs, stalledMs)) this.#abort?.(new CallbackTimeoutError("The handler did not answer in time."));
  }

  /**
   * Awaits nothing unless a name must be looked up or secrets must be read: most callbacks are sent in the same turn of the event loop in
   * which their claim arrived.
   */
  #prepare(endpoint: CallbackEndpoint | null): Promise<void> | undefined {
    if (!endpoint) this.#end({ kind: "withdrawn" });
    else if (endpoint.blocked !== null)
      this.#receive({ kind: "failed", error: new BlockedAddressError(endpoint.host, endpoint.blocked), unsent: true });
    else {
      const resolution = this.#options.names.resolve(this.#claim.workspaceId, endpoint.host);
      if (!(resolution instanceof Promise)) return this.#fill(endpoint, resolution);
      return this.#endOnError(async () => this.#fill(endpoint, await resolution));
    }
    return undefined;
  }

  #fill(endpoint: CallbackEndpoint, resolution: Resolution): Promise<void> | undefined {
    const { payload } = this.#claim;
    if (this.#ended) return undefined;
    if (resolution.kind === "failed") this.#receive(resolution);
    else {
      this.#use(endpoint.host, resolution.addresses);
      if (!endpoint.plain || mayHoldTemplates(payload)) {
        return this.#endOnError(async () => this.#send(endpoint, await this.#content(endpoint)));
      }
      this.#send(endpoint, { ...endpoint.plain, payload });
    }
    return undefined;
  }

  #use(host: string, addresses: Extract<Resolution, { kind: "found" }>["addresses"]): void {
    this.#host = host;
    this.#options.hosts.begin(host, addresses);
  }

  async #endOnError(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof SecretError) this.#end({ kind: "unsendable", code: error.code, message: error.message });
      else if (error instanceof RequestContentError) this.#end({ kind: "unsendable", code: "TEMPLATE_INVALID", message: error.message });
      else if (error instanceof ProblemError) this.#end({ kind: "postponed", waitMs: POSTPONE_MS });
      else this.#fail(error);
    }
  }

  /** The content with its secrets filled in. From here on, the redactor removes these secrets from what is kept of the response. */
  async #content(endpoint: CallbackEndpoint): Promise<RequestContent> {
    const { payload, workspaceId, attempt } = this.#claim;
    const { queue, host } = endpoint;
    this.#withdrawn = new AbortController();
    const templates = await this.#inSlices(payload.length, readTemplates(endpoint, payload));
    if (templates.secrets.length === 0) return this.#inSlices(payload.length, templates.fill(NO_SECRETS));
    const use = { workspaceId, queue, host, jobId: this.#jobId, attempt, names: templates.secrets };
    const { values, redactor } = await this.#options.secrets.resolve(use, this.#withdrawn.signal);
    this.#redactor = redactor;
    return this.#inSlices(payload.length, templates.fill(values));
  }

  /** Runs work that takes long for a large text. It is dropped when the attempt has ended. */
  #inSlices<Result>(characters: number, work: SlicedWork<Result>): Result | Promise<Result> {
    const result = this.#options.shares.loopTime.run(this.#claim.workspaceId, characters, work);
    if (result instanceof Promise) this.#work = work;
    return result;
  }

  #send(endpoint: CallbackEndpoint, content: RequestContent): void {
    if (this.#ended) return;
    const signed = this.#inSlices(content.payload.length, this.#sign(endpoint, content.payload));
    if (signed instanceof Promise) void this.#endOnError(async () => this.#post(endpoint, content, await signed));
    else this.#post(endpoint, content, signed);
  }

  *#sign(endpoint: CallbackEndpoint, payload: string): SlicedWork<Signed> {
    const body = encodeParts(showDelivered(this.#claim, this.#jobId, endpoint.queue, payload));
    yield;
    // Signed when it leaves, not when the job was claimed: the receiver compares the timestamp with its own clock.
    const timestamp = Math.floor(this.#options.clock.nowMs() / 1000);
    return { body, timestamp, signature: sign(endpoint.key, this.#jobId, timestamp, body) };
  }

  #post(endpoint: CallbackEndpoint, { path, headers }: RequestContent, { body, timestamp, signature }: Signed): void {
    if (this.#ended) return;
    const { sender, clock, version } = this.#options;
    const { attempt, traceparent, tracestate } = this.#claim;
    this.#deadline.begin(clock.elapsedMs(), endpoint.timeoutMs);
    this.#abort = sender.send(
      {
        origin: endpoint.origin,
        path,
        headers: {
          ...headers,
          ...signedHeaders({ id: this.#jobId, attempt, timestamp, signature, version }),
          ...(traceparent !== null && { traceparent }),
          ...(tracestate !== null && { tracestate }),
        },
        body,
        maxBodyBytes: LIMITS.resultBytes,
      },
      (response) => this.#receive(response),
    );
  }

  #receive(response: Response): void {
    if (this.#ended) return;
    if (response.kind === "failed" && response.error instanceof PrivateNameError) {
      this.#options.emit("callback_blocked", { jobId: this.#jobId, address: response.error.address, error: response.error });
    }
    const error = response.kind === "failed" ? response.error : null;
    const postponement = postponementOf(error);
    if (postponement) {
      this.#onPostponed(error);
      this.#end(postponement);
    } else this.#classify(response);
  }

  #classify(response: Response): void {
    const characters = response.kind === "responded" ? (response.body?.length ?? 0) : 0;
    // Making the encodings of secrets takes long, however short the response is.
    const cost = this.#redactor ? Number.POSITIVE_INFINITY : characters;
    const work = classify(response, this.#options.clock.nowMs(), this.#redactor);
    try {
      const result = this.#inSlices(cost, work);
      if (result instanceof Promise) void this.#endOnError(async () => this.#end(await result));
      else this.#end(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  #end(result: AttemptResult): void {
    if (this.#markEnded()) this.#settled.resolve(result);
  }

  #fail(error: unknown): void {
    if (this.#markEnded()) this.#settled.reject(error);
  }

  /** Ends the callback. Returns false when it had already ended. */
  #markEnded(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    if (this.#work) this.#options.shares.loopTime.drop(this.#work);
    if (this.#host !== undefined) this.#options.hosts.end(this.#host);
    this.#onEnd();
    return true;
  }
}
