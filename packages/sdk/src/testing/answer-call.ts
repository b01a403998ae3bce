import type { HttpCall, RunStep } from "@tidemill/contract";
import { failureOf } from "../workflow/failure.ts";
import { remember } from "../workflow/remembered.ts";
import { neverEnds } from "./answers.ts";
import type { Substitutes } from "./substitutes.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** The response to a call of `step.http`, as a test gives it in `mocks`. */
export interface HttpMock {
  /** 200 by default. As in the service, a status outside of 200 to 299 fails the step. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** How a call ended. */
export type CallOutcome =
  | { readonly status: "completed"; readonly output: unknown }
  | { readonly status: "failed"; readonly error: NonNullable<RunStep["error"]> };

const ATTEMPTS = 3;
const BACKOFF_MS = 1_000;
const FIELDS = ["status", "headers", "body"];
/** Below 500. */
const RETRIED = [408, 425, 429];

/**
 * What the service would store for a call, with the responses that the test gives. Null: the call does not end.
 *
 * @throws when the test gives no response
 */
export async function answerCall(key: string, call: HttpCall, substitutes: Substitutes, clock: VirtualClock): Promise<CallOutcome | null> {
  const { attempts = ATTEMPTS, backoff } = call;
  // The name of a step, without its key and the number of its use.
  const name = key.replace(/:\d+$/, "").replace(/\[.*\]$/s, "");
  const unmocked = () => {
    throw new UnmockedCallError(key, name, call);
  };
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await answerOnce(key, substitutes.replaceCall({ name, key }, call, unmocked));
    if (outcome === neverEnds) return null;
    if (!outcome.isRetried || attempt >= attempts) return outcome.outcome;
    await clock.wait((backoff?.delay ?? BACKOFF_MS) * 2 ** (attempt - 1));
  }
}

async function answerOnce(
  key: string,
  answer: () => unknown,
): Promise<{ readonly outcome: CallOutcome; readonly isRetried: boolean } | typeof neverEnds> {
  const failed = (message: string, code: string, status: number | null, isRetried: boolean) => ({
    outcome: { status: "failed", error: { name: "HttpError", message, code, status } } as const,
    isRetried,
  });
  let given: unknown;
  try {
    given = await answer();
  } catch (error) {
    if (error instanceof UnmockedCallError) throw error;
    return failed(failureOf(error).message, "CONNECTION", null, true);
  }
  if (given === neverEnds) return neverEnds;
  const { status = 200, headers = {}, body = "" } = checked(key, given);
  const isRetried = status >= 500 || RETRIED.includes(status);
  if (status < 200 || status > 299) return failed(`The response has the status ${status}.`, "HTTP_STATUS", status, isRetried);
  return { outcome: { status: "completed", output: remember({ status, headers, body }, `step "${key}"`) }, isRetried: false };
}

function checked(key: string, given: unknown): HttpMock {
  const isResponse = typeof given === "object" && given !== null && Object.keys(given).every((field) => FIELDS.includes(field));
  if (isResponse) return given as HttpMock;
  throw new TypeError(`The mock of step "${key}" must be a response, { status, headers, body }, or a function that returns one.`);
}

class UnmockedCallError extends Error {
  constructor(key: string, name: string, { url }: HttpCall) {
    super(`Step "${key}" calls ${url}, and the test has no response for it. Give one: { mocks: { "${name}": { status: 200, body: … } } }.`);
  }
}
