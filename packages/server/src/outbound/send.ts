import { Agent, buildConnector } from "undici";
import { type AddressGuard, BlockedAddressError } from "./address-guard.ts";
import { Exchange } from "./exchange.ts";
import { type Meter, metered } from "./meter.ts";
import type { Abort, Request, Response } from "./request.ts";

const KEEP_ALIVE_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** Sends POST requests over kept-alive connections whose addresses the guard has checked. Redirects are not followed. */
export class Sender {
  readonly #agent: Agent;
  #meter: Meter | null = null;

  constructor(guard: AddressGuard) {
    const connect = metered(guardedConnector(guard), (meter) => {
      this.#meter = meter;
    });
    this.#agent = new Agent({
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Whatever the handler asks for: idle connections are ours to keep.
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      // The caller's clock ends slow requests as a whole.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect,
    });
  }

  send(request: Request, onDone: (response: Response) => void): Abort {
    const exchange = new Exchange(request.mostBodyBytes, () => this.#meter, onDone);
    const { origin, path, headers, body } = request;
    try {
      this.#agent.dispatch({ origin, path, method: "POST", headers, body }, exchange);
    } catch (error) {
      exchange.onResponseError(null, error as Error);
    }
    return (reason) => exchange.abort(reason);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** Sockets look names up, but not literals: those are checked before. */
function guardedConnector(guard: AddressGuard): buildConnector.connector {
  const connect = buildConnector({ allowH2: false, lookup: guard.lookup, timeout: CONNECT_TIMEOUT_MS });
  return (options, callback) => {
    if (!guard.refusesHost(options.hostname)) connect(options, callback);
    else queueMicrotask(() => callback(new BlockedAddressError(options.hostname, null), null));
  };
}
