import { Agent, buildConnector } from "undici";
import { type AddressGuard, BlockedAddressError } from "./address-guard.ts";
import type { Abort, Request, Response } from "./request.ts";
import { limitResponses, type ResponseLimiter } from "./response-limiter.ts";
import { ResponseReader } from "./response-reader.ts";

const KEEP_ALIVE_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** Sends POST requests over keep-alive connections whose addresses the guard has checked. Does not follow redirects. */
export class Sender {
  readonly #agent: Agent;
  #limiter: ResponseLimiter | null = null;

  constructor(guard: AddressGuard) {
    const connect = limitResponses(guardedConnector(guard), (limiter) => {
      this.#limiter = limiter;
    });
    this.#agent = new Agent({
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // A handler's `Keep-Alive` header must not lengthen this.
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      // The caller has one timeout for the whole request.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect,
    });
  }

  send(request: Request, onDone: (response: Response) => void): Abort {
    const reader = new ResponseReader(request.maxBodyBytes, () => this.#limiter, onDone);
    const { origin, path, headers, body } = request;
    try {
      this.#agent.dispatch({ origin, path, method: "POST", headers, body }, reader);
    } catch (error) {
      reader.onResponseError(null, error as Error);
    }
    return (reason) => reader.abort(reason);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Sockets call the guard's lookup for names only, so literals are checked before the connection is made. */
function guardedConnector(guard: AddressGuard): buildConnector.connector {
  const connect = buildConnector({ allowH2: false, lookup: guard.lookup, timeout: CONNECT_TIMEOUT_MS });
  return (options, callback) => {
    if (!guard.refusesHost(options.hostname)) connect(options, callback);
    else queueMicrotask(() => callback(new BlockedAddressError(options.hostname, null), null));
  };
}
