import { CALLBACK_HEADERS, LIMITS } from "@tidemill/contract";
import type { Answer, Attempt, Carrier, Claim } from "#dispatch";
import { showJobId } from "#jobs";
import { type Clock, tolerate } from "#kernel";
import { type Abort, BlockedAddressError, type Response, type Sender, sign } from "#outbound";
import { CallbackTimeoutError, classify } from "./classify.ts";
import type { Endpoint, Endpoints } from "./endpoint.ts";

export interface CarrierOptions {
  readonly sender: Pick<Sender, "send">;
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  readonly version: string;
}

class AbortedError extends Error {
  readonly code = "ABORTED";
}

/** Carries jobs to their handlers: one signed POST per attempt. Source: specification, Events, Callback delivery. */
export class CallbackCarrier implements Carrier {
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
  readonly answer: Promise<Answer>;
  readonly #claim: Claim;
  readonly #options: CarrierOptions;
  readonly #onEnd: () => void;
  #resolve: (answer: Answer) => void = () => {};
  #abort: Abort | undefined;
  #ended = false;
  #deadlineMs = Number.POSITIVE_INFINITY;

  constructor(claim: Claim, options: CarrierOptions, onEnd: () => void) {
    this.#claim = claim;
    this.#options = options;
    this.#onEnd = onEnd;
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  begin(): void {
    const endpoint = this.#options.endpoints.of(this.#claim);
    if (endpoint instanceof Promise) void this.#sendWhenKnown(endpoint);
    else this.#send(endpoint);
  }

  abort(): void {
    this.#end({ kind: "withdrawn" });
    this.#abort?.(new AbortedError("The attempt was aborted."));
  }

  endIfOverdue(nowMs: number): void {
    if (nowMs >= this.#deadlineMs) this.#abort?.(new CallbackTimeoutError("The handler did not answer in time."));
  }

  async #sendWhenKnown(loading: Promise<Endpoint | null>): Promise<void> {
    await tolerate(
      async () => {
        const endpoint = await loading;
        if (endpoint) this.#send(endpoint);
        else this.#end({ kind: "withdrawn" });
      },
      // The address cannot be read now: the job waits again, and no attempt is used.
      () => this.#end({ kind: "withdrawn" }),
    );
  }

  #send(endpoint: Endpoint): void {
    if (this.#ended) return;
    const { sender, clock, version } = this.#options;
    if (endpoint.blocked !== null) {
      this.#answer({ kind: "failed", error: new BlockedAddressError(endpoint.host, endpoint.blocked) });
      return;
    }
    const id = showJobId(this.#claim.id);
    const body = Buffer.from(bodyOf(this.#claim, id, endpoint.queue));
    // Signed when it leaves, not when the job was claimed: the receiver's tolerance starts now.
    const timestamp = Math.floor(clock.nowMs() / 1000);
    this.#deadlineMs = clock.elapsedMs() + endpoint.timeoutMs;
    this.#abort = sender.send(
      {
        origin: endpoint.origin,
        path: endpoint.path,
        headers: {
          ...endpoint.headers,
          "Content-Type": "application/json",
          "User-Agent": `Tidemill/${version}`,
          [CALLBACK_HEADERS.jobId]: id,
          [CALLBACK_HEADERS.attempt]: String(this.#claim.attempt),
          [CALLBACK_HEADERS.timestamp]: String(timestamp),
          [CALLBACK_HEADERS.signature]: sign(endpoint.key, id, timestamp, body),
        },
        body,
        mostBodyBytes: LIMITS.resultBytes,
      },
      (response) => this.#answer(response),
    );
  }

  #answer(response: Response): void {
    if (!this.#ended) this.#end(classify(response, this.#options.clock.nowMs()));
  }

  #end(answer: Answer): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    this.#resolve(answer);
  }
}

/** The callback's body. The payload stands in it as it was sent. Source: contract §4. */
const bodyOf = (claim: Claim, id: string, queue: string): string =>
  `{"id":"${id}","queue":${JSON.stringify(queue)},"attempt":${claim.attempt},"attempts":${claim.attempts + claim.spared},` +
  `"tag":${JSON.stringify(claim.tag)},"created_at":"${claim.createdAt}","schedule":null,"payload":${claim.payload}}`;
