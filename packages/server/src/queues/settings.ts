import type { CreateQueue, PatchQueue } from "@tidemill/contract";
import type { QueueSettings } from "./store.ts";

/** A request's settings as they are stored. */
export function settingsOf(request: CreateQueue | PatchQueue, secret: string | null): QueueSettings {
  const { callback_url, callback_headers, callback_timeout, defaultJobOptions, paused } = request;
  return {
    callbackUrl: callback_url,
    callbackHeaders: callback_headers && JSON.stringify(callback_headers),
    callbackTimeout: callback_timeout,
    callbackSecret: secret ?? undefined,
    attempts: defaultJobOptions?.attempts,
    backoffDelayMs: defaultJobOptions?.backoff?.delay,
    paused,
  };
}
