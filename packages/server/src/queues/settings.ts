import type { CreateQueue, PatchQueue } from "@tidemill/contract";
import type { QueueSettings } from "./store.ts";

/** A request's settings as they are stored; `undefined` where the request leaves a setting out. */
export function settingsOf(request: CreateQueue | PatchQueue, secret: string | null): QueueSettings {
  const { callback_url, callback_headers, callback_timeout, defaultJobOptions, rate_limit, approval } = request;
  return {
    callbackUrl: callback_url,
    callbackHeaders: callback_headers && JSON.stringify(callback_headers),
    served: callback_url === undefined ? undefined : callback_url === null ? "pull" : "push",
    attemptTimeoutSeconds: callback_timeout,
    callbackSecret: secret ?? undefined,
    attempts: defaultJobOptions?.attempts,
    backoffDelayMs: defaultJobOptions?.backoff?.delay,
    concurrency: request.concurrency,
    concurrencyPerKey: request.concurrency_per_key,
    rateMax: rate_limit === null ? null : rate_limit?.max,
    rateSeconds: rate_limit === null ? null : rate_limit?.per_seconds,
    paused: request.paused,
    approvalTimeout: approval === null ? null : approval?.timeout,
    onTimeout: approval === null ? "reject" : approval?.on_timeout,
  };
}
