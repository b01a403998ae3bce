import { LIMITS } from "@tidemill/contract/limits";
import { TidemillError } from "../error.ts";
import { NonRetryableError, RetryAfterError } from "./errors.ts";

/**
 * Whether the attempt that threw this is tried again, and after how many seconds at least. Never throws, although anything may have been
 * thrown.
 */
export function retryOf(error: unknown): { retry?: false; retry_in?: number } {
  try {
    return readRetry(error);
  } catch {
    return {};
  }
}

function readRetry(error: unknown): { retry?: false; retry_in?: number } {
  if (error instanceof RetryAfterError) {
    const seconds = Math.min(Math.max(Math.ceil(Number(error.seconds)), 0), LIMITS.delaySeconds);
    return Number.isNaN(seconds) ? {} : { retry_in: seconds };
  }
  const isPermanent = error instanceof NonRetryableError || (error instanceof TidemillError && error.code === "VALIDATION_ERROR");
  return isPermanent ? { retry: false } : {};
}
