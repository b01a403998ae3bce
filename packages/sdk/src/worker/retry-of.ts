import { TidemillError } from "../error.ts";
import { NonRetryableError, RetryAfterError } from "./errors.ts";

/** Whether, and after how many seconds at least, what threw this is tried again. */
export function retryOf(error: unknown): { retry?: boolean; retry_in?: number } {
  if (error instanceof RetryAfterError) return { retry_in: Math.max(0, Math.ceil(error.seconds)) };
  const isPermanent = error instanceof NonRetryableError || (error instanceof TidemillError && error.code === "VALIDATION_ERROR");
  return isPermanent ? { retry: false } : {};
}
