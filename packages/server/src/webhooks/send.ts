import { WEBHOOK_HEADERS } from "@tidemill/contract";
import { CallbackTimeoutError, fillTarget, POSTPONE_MS, postponementOf, RequestContentError } from "#callbacks";
import { AttemptDeadline, type AttemptResult } from "#engine";
import type { Claim } from "#jobs";
import { type Clock, type EmitEvent, ProblemError, type Shares, type SlicedWork } from "#kernel";
import { BlockedAddressError, type HostsInUse, type Names, PrivateNameError, type Response, type Sender, sign } from "#outbound";
import type { Redactor } from "#redaction";
import { type SecretAccess, SecretError, TemplateFiller } from "#vault";
import { eventIdOf, showDeliveryId } from "./delivery.ts";
import type { WebhookEndpoint, WebhookEndpoints } from "./endpoint.ts";
import { MAX_RESPONSE_BYTES, readDeliveryResponse, reportOf } from "./read-response.ts";
import { TIMEOUT_SECONDS } from "./store.ts";
import type { UnwantedDeliveries } from "./unwanted-deliveries.ts";

export interface SendOptions {
  readonly endpoints: WebhookEndpoints;
  readonly unwanted: UnwantedDeliveries;
  readonly sender: Pick<Sender, "send">;
  readonly names: Pick<Names, "resolve">;
  readonly hosts: Pick<HostsInUse, "begin" | "end">;
  readonly secrets: Pick<SecretAccess, "resolve">;
  readonly shares: Pick<Shares, "loopTime">;
  readonly clock: Clock;
  readonly version: string;
  readonly emit: EmitEvent;
}

/** One attempt to send an event. */
export class Send {
  readonly #claim: Claim;
  readonly #options: SendOptions;
  readonly #onPostponed: (error: unknown) => void;
  readonly #aborted = Promise.withResolvers<AttemptResult>();
  /** Aborted when the attempt is. */
  readonly #withdrawn = new AbortController();
  #endRequest: ((reason: Error) => void) | undefined;
  #work: SlicedWork<unknown> | undefined;
  #redactor: Redactor | null = null;
  #host: string | undefined;
  readonly #deadline = new AttemptDeadline();
  readonly #beganMs: number;

  constructor(claim: Claim, options: SendOptions, onPostponed: (error: unknown) => void) {
    this.#claim = claim;
    this.#options = options;
    this.#onPostponed = onPostponed;
    this.#beganMs = options.clock.elapsedMs();
  }

  async make(): Promise<AttemptResult> {
    const made = this.#attempt().catch((error: unknown) => this.#resultOfError(error));
    try {
      return await Promise.race([made, this.#aborted.promise]);
    } finally {
      if (this.#work) this.#options.shares.loopTime.drop(this.#work);
      if (this.#host !== undefined) this.#options.hosts.end(this.#host);
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
    const endpoint = await this.#options.endpoints.of(this.#claim);
    if (!endpoint) return { kind: "withdrawn" };
    if (endpoint.isOff && !(await this.#options.unwanted.add(this.#claim))) return { kind: "postponed", waitMs: POSTPONE_MS };
    return this.#read(await this.#send(endpoint));
  }

  async #send(endpoint: WebhookEndpoint): Promise<Response> {
    const { host, isBlocked } = endpoint;
    if (isBlocked) return { kind: "failed", error: new BlockedAddressError(host, host), unsent: true };
    const resolution = await this.#options.names.resolve(this.#claim.workspaceId, host);
    if (resolution.kind === "failed") return resolution;
    this.#withdrawn.signal.throwIfAborted();
    this.#host = host;
    this.#options.hosts.begin(host, resolution.addresses);
    const content = await this.#fill(endpoint);
    this.#withdrawn.signal.throwIfAborted();
    return this.#post(endpoint, content);
  }

  /** Path and headers with their secrets. From here on, the redactor takes these secrets out of what is kept of the response. */
  async #fill(endpoint: WebhookEndpoint): Promise<{ path: string; headers: Record<string, string> }> {
    const { webhook, host, secrets: names } = endpoint;
    const { workspaceId, attempt, id } = this.#claim;
    let values: ReadonlyMap<string, string> = new Map();
    if (names.length > 0) {
      const use = { workspaceId, queue: null, webhook, host, jobId: showDeliveryId(id), attempt, names };
      const resolved = await this.#options.secrets.resolve(use, this.#withdrawn.signal);
      values = resolved.values;
      this.#redactor = resolved.redactor;
    }
    return fillTarget("url", endpoint, new TemplateFiller(values));
  }

  #post(
    { origin, key, previous }: WebhookEndpoint,
    { path, headers }: { path: string; headers: Record<string, string> },
  ): Promise<Response> {
    const { sender, clock, version } = this.#options;
    const body = Buffer.from(this.#claim.payload);
    const id = eventIdOf(this.#claim.payload);
    // Signed when it leaves: the receiver compares the timestamp with its own clock.
    const nowMs = clock.nowMs();
    const timestamp = Math.floor(nowMs / 1000);
    const keys = previous && nowMs < previous.untilMs ? [key, previous.key] : [key];
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.#deadline.begin(clock.elapsedMs(), TIMEOUT_SECONDS * 1000);
    this.#endRequest = sender.send(
      {
        origin,
        path,
        headers: {
          ...headers,
          "Content-Type": "application/json",
          "User-Agent": `Tidemill/${version}`,
          [WEBHOOK_HEADERS.id]: id,
          [WEBHOOK_HEADERS.timestamp]: String(timestamp),
          [WEBHOOK_HEADERS.signature]: keys.map((one) => sign(one, id, timestamp, body)).join(" "),
        },
        body,
        maxBodyBytes: MAX_RESPONSE_BYTES,
      },
      resolve,
    );
    return promise;
  }

  async #read(response: Response): Promise<AttemptResult> {
    const { clock, emit } = this.#options;
    const error = response.kind === "failed" ? response.error : null;
    if (error instanceof PrivateNameError)
      emit("callback_blocked", { jobId: showDeliveryId(this.#claim.id), address: error.address, error });
    const postponement = postponementOf(error);
    if (postponement) {
      this.#onPostponed(error);
      return postponement;
    }
    const characters = response.kind === "responded" ? (response.body?.length ?? 0) : 0;
    const cost = this.#redactor ? Number.POSITIVE_INFINITY : characters;
    const work = readDeliveryResponse(response, clock.nowMs(), this.#redactor, clock.elapsedMs() - this.#beganMs);
    const result = this.#options.shares.loopTime.run(this.#claim.workspaceId, cost, work);
    if (result instanceof Promise) this.#work = work;
    return result;
  }

  #resultOfError(error: unknown): AttemptResult {
    const report = reportOf(null, this.#options.clock.elapsedMs() - this.#beganMs);
    if (this.#withdrawn.signal.aborted) return { kind: "withdrawn" };
    if (error instanceof SecretError) return { kind: "unsendable", code: error.code, message: error.message, report };
    if (error instanceof RequestContentError) return { kind: "unsendable", code: "TEMPLATE_INVALID", message: error.message, report };
    if (error instanceof ProblemError) return { kind: "postponed", waitMs: POSTPONE_MS };
    throw error;
  }
}
