import { CALLBACK_HEADERS } from "@tidemill/contract/signing";
import { checkNames } from "../check-names.ts";
import { Tidemill } from "../client.ts";
import { momentMs } from "../clock.ts";
import { refuseInCheck } from "../refuse-in-check.ts";
import { InvalidSignatureError } from "../verify/invalid-signature.ts";
import { verifyCallback } from "../verify/verify-callback.ts";
import { KeyState } from "../worker/key-state.ts";
import type { Logger } from "../worker/logger.ts";
import { registrationOf } from "../workflow/registration.ts";
import { executePushed, type Pushed } from "./execute.ts";
import { checkServeOptions, readServeOptions, type ServeOptions, type ServeSettings } from "./options.ts";
import { readPushed } from "./read-pushed.ts";

/** Where the service reaches a handler. */
export interface RegisterOptions {
  /** URL at which the service reaches the handler. */
  readonly endpointUrl: string;
  /** How long one execution may take. Seconds, at most 900; 30 by default. */
  readonly endpointTimeout?: number;
  /** Ends the call. */
  readonly signal?: AbortSignal;
}

const REGISTER_OPTIONS = { endpointUrl: true, endpointTimeout: true, signal: true } satisfies Record<keyof RegisterOptions, true>;

/** A handler that executes workflows, which the service calls at their `endpoint_url`. */
export interface Serve {
  /** Executes what a request of the service asks for. Never rejects. */
  (request: Request): Promise<Response>;
  /**
   * Registers the workflows, with the address of the handler and the first of its secrets. Call it when a version is deployed.
   *
   * @throws {TidemillError} PLAN_REQUIRED when the plan of the workspace has no callbacks
   * @throws {TypeError} naming the option that is missing or wrong
   */
  register(options: RegisterOptions): Promise<void>;
}

/**
 * Serves workflows over HTTP: the service sends each execution to this handler, and no worker is needed. The handler takes a Request of the
 * Fetch API and returns a Response. There are adapters for other frameworks.
 *
 * ```ts
 * const handler = serve({ workflows: [onboard], secret: process.env.TIDEMILL_ENDPOINT_SECRET });
 * export const { POST } = nextHandler(handler);
 * await handler.register({ endpointUrl: "https://example.com/api/tidemill" });
 * ```
 *
 * @throws {TypeError} when `workflows` is not a list of workflows, and for options that do not exist
 */
export function serve(options: ServeOptions): Serve {
  checkServeOptions(options);
  let read: ServeSettings | undefined;
  return serveWith(() => (read ??= readServeOptions(options)), options.logger);
}

/** @param settings called with the first request or registration: it reads the environment, which may not be there at a build */
export function serveWith(settings: () => ServeSettings, logger: Logger = console): Serve {
  const key = new KeyState("Executions that report steps end without an outcome until the handler has another key.");
  const handle = async (request: Request): Promise<Response> => {
    try {
      return await answer(settings(), key, request);
    } catch (error) {
      if (error instanceof InvalidSignatureError) return refusal(401, error.message);
      logger.error("A request for workflows failed.", { error: String(error) });
      return refusal(500, "The request could not be handled.");
    }
  };
  return Object.assign(handle, { register: (where: RegisterOptions) => register(settings(), where) });
}

export const ONLY_POST = "Executions come as POST requests.";

async function answer({ worker, secrets }: ServeSettings, key: KeyState, request: Request): Promise<Response> {
  if (request.method !== "POST") return refusal(405, ONLY_POST);
  const sentMs = Number(request.headers.get(CALLBACK_HEADERS.timestamp)) * 1_000;
  const read = readPushed(await verifiedBody(request, secrets));
  if (read.fault !== null) return refusal(400, read.fault);
  const { pushed } = read;
  if (!worker.workflows.has(pushed.workflowId)) return refusal(404, `This program has no workflow ${JSON.stringify(pushed.workflowId)}.`);
  const end = await executePushed({ settings: worker, key }, pushed, request.signal, heldMsOf(pushed, sentMs));
  return end.outcome === null ? refusal(504, end.reason) : json(200, end.outcome);
}

/** How long the service waits for an execution. Milliseconds. */
function heldMsOf(pushed: Pushed, sentMs: number): number {
  if (pushed.kind === "run" && pushed.timeout !== undefined) return pushed.timeout * 1_000;
  // By the clock of the service, which may differ from the one of this machine.
  return momentMs(pushed.lease_expires_at) - sentMs;
}

/** The body of a request that is signed. Undefined: it is not JSON. */
async function verifiedBody(request: Request, secrets: readonly string[]): Promise<unknown> {
  try {
    return await verifyCallback(request, secrets);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function register(
  { worker: { url, key, fetch, workflows }, secrets: [secret] }: ServeSettings,
  where: RegisterOptions,
): Promise<void> {
  refuseInCheck("no workflow is registered");
  checkNames("register", where, REGISTER_OPTIONS);
  const { endpointUrl, endpointTimeout, signal } = where;
  const client = new Tidemill({ url, key, fetch });
  for (const workflow of workflows.values()) {
    const endpoint = {
      endpoint_url: endpointUrl,
      endpoint_secret: secret,
      ...(endpointTimeout !== undefined && { endpoint_timeout: endpointTimeout }),
    };
    await client.workflows.put(workflow.id, { ...registrationOf(workflow), ...endpoint }, { signal });
  }
}

const refusal = (status: number, message: string): Response => json(status, JSON.stringify({ error: { message } }));

const json = (status: number, text: string): Response => new Response(text, { status, headers: { "content-type": "application/json" } });
