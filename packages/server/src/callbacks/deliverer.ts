import { CALLBACK_HEADERS, LIMITS, WEBHOOK_HEADERS } from "@tidemill/contract";
import type { Attempt, AttemptResult, Deliverer } from "#engine";
import { type Claim, showJobId } from "#jobs";
import { type Clock, ProblemError } from "#kernel";
import { type Abort, BlockedAddressError, type Response, type Sender, sign } from "#outbound";
import type { Redactor } from "#redaction";
import { mayHoldTemplates, type SecretAccess, SecretError } from "#vault";
import { CallbackTimeoutError, classify } from "./classify.ts";
import type { Endpoint, Endpoints } from "./endpoint.ts";
import { draftLetter, type Letter } from "./letter.ts";
import { LetterError } from "./letter-error.ts";

export interface CarrierOptions {
  readonly sender: Pick<Sender, "send">;
  readonly endpoints: Endpoints;
  readonly secrets: Pick<SecretAccess, "resolve">;
  readonly clock: Clock;
  readonly version: string;
}

/** How long a job waits when the database, or the key of a secret, is away. No attempt is used. */
const POSTPONE_MS = 2_000;

const NO_SECRETS: ReadonlyMap<string, string> = new Map();

class AbortedError extends Error {
  readonly code = "ABORTED";
}

/** Carries jobs to their handlers: one signed POST per attempt. Source: specification, Events, Callback delivery. */
export class CallbackDeliverer implements Deliverer {
  readonly #options: CarrierOptions;
  readonly #under = new Set<Callback>();

  constructor(options: CarrierOptions) {
    this.#options = options;
  }

  start(claim: Claim): Attempt {
    const callback = new Callback(claim, this.#options, () => this.#under.delete(callback));
    this.#under.add(callback);
    callback.begin();
    return callback;
  }

  sweep(): void {
    const nowMs = this.#options.clock.elapsedMs();
    for (const callback of this.#under) callback.endIfOverdue(nowMs);
  }
}

class Callback implements Attempt {
  readonly result: Promise<AttemptResult>;
  readonly #claim: Claim;
  /** As the API shows it. */
  readonly #jobId: string;
  readonly #options: CarrierOptions;
  readonly #onEnd: () => void;
  readonly #settled = Promise.withResolvers<AttemptResult>();
  #abort: Abort | undefined;
  #redactor: Redactor | null = null;
  #ended = false;
  #deadlineMs = Number.POSITIVE_INFINITY;

  constructor(claim: Claim, options: CarrierOptions, onEnd: () => void) {
    this.#claim = claim;
    this.#jobId = showJobId(claim.id);
    this.#options = options;
    this.#onEnd = onEnd;
    this.result = this.#settled.promise;
  }

  begin(): void {
    const endpoint = this.#options.endpoints.of(this.#claim);
    if (endpoint instanceof Promise) void this.#orEnd(async () => this.#make(await endpoint));
    else void this.#make(endpoint);
  }

  abort(): void {
    this.#end({ kind: "withdrawn" });
    this.#abort?.(new AbortedError("The attempt was aborted."));
  }

  endIfOverdue(nowMs: number): void {
    if (nowMs >= this.#deadlineMs) this.#abort?.(new CallbackTimeoutError("The handler did not answer in time."));
  }

  /** Nothing is awaited where nothing is to be read: most callbacks leave in the turn that their claim came in. */
  #make(endpoint: Endpoint | null): Promise<void> | undefined {
    const { payload } = this.#claim;
    if (!endpoint) this.#end({ kind: "withdrawn" });
    else if (endpoint.blocked !== null) this.#answer({ kind: "failed", error: new BlockedAddressError(endpoint.host, endpoint.blocked) });
    else if (endpoint.plain && !mayHoldTemplates(payload)) this.#send(endpoint, { ...endpoint.plain, payload });
    else return this.#orEnd(async () => this.#send(endpoint, await this.#letter(endpoint)));
    return undefined;
  }

  async #orEnd(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof SecretError) this.#end({ kind: "unsendable", code: error.code, message: error.message });
      else if (error instanceof LetterError) this.#end({ kind: "unsendable", code: "TEMPLATE_INVALID", message: error.message });
      else if (error instanceof ProblemError) this.#end({ kind: "postponed", waitMs: POSTPONE_MS });
      else this.#fail(error);
    }
  }

  /** With its secrets in place, of which the answer is then kept clean. */
  async #letter(endpoint: Endpoint): Promise<Letter> {
    const { payload, workspaceId, attempt } = this.#claim;
    const { queue, host } = endpoint;
    const draft = draftLetter(endpoint, payload);
    if (draft.secrets.length === 0) return draft.fill(NO_SECRETS);
    const use = { workspaceId, queue, host, jobId: this.#jobId, attempt, names: draft.secrets };
    const { values, redactor } = await this.#options.secrets.resolve(use);
    this.#redactor = redactor;
    return draft.fill(values);
  }

  #send(endpoint: Endpoint, { path, headers, payload }: Letter): void {
    if (this.#ended) return;
    const { sender, clock, version } = this.#options;
    const id = this.#jobId;
    const body = Buffer.from(bodyOf(this.#claim, id, endpoint.queue, payload));
    // Signed when it leaves, not when the job was claimed: the receiver's tolerance starts now.
    const timestamp = Math.floor(clock.nowMs() / 1000);
    const signature = sign(endpoint.key, id, timestamp, body);
    this.#deadlineMs = clock.elapsedMs() + endpoint.timeoutMs;
    this.#abort = sender.send(
      {
        origin: endpoint.origin,
        path,
        headers: {
          ...headers,
          "Content-Type": "application/json",
          "User-Agent": `Tidemill/${version}`,
          [CALLBACK_HEADERS.jobId]: id,
          [CALLBACK_HEADERS.attempt]: String(this.#claim.attempt),
          [CALLBACK_HEADERS.timestamp]: String(timestamp),
          [CALLBACK_HEADERS.signature]: signature,
          [WEBHOOK_HEADERS.id]: id,
          [WEBHOOK_HEADERS.timestamp]: String(timestamp),
          [WEBHOOK_HEADERS.signature]: signature,
        },
        body,
        mostBodyBytes: LIMITS.resultBytes,
      },
      (response) => this.#answer(response),
    );
  }

  #answer(response: Response): void {
    if (!this.#ended) this.#end(classify(response, this.#options.clock.nowMs(), this.#redactor));
  }

  #end(result: AttemptResult): void {
    if (this.#leave()) this.#settled.resolve(result);
  }

  #fail(error: unknown): void {
    if (this.#leave()) this.#settled.reject(error);
  }

  /** Whether it was under way still. */
  #leave(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#onEnd();
    return true;
  }
}

/** The callback's body. The payload stands in it as it was sent. Source: contract §4. */
const bodyOf = (claim: Claim, id: string, queue: string, payload: string): string =>
  `{"id":"${id}","queue":${JSON.stringify(queue)},"attempt":${claim.attempt},"attempts":${claim.attempts + claim.spared},` +
  `"tag":${JSON.stringify(claim.tag)},"created_at":"${claim.createdAt}","schedule":${JSON.stringify(claim.schedule)},` +
  `"scheduled_for":${JSON.stringify(claim.scheduledFor)},"payload":${payload}}`;
