import type { LookupFunction } from "node:net";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { stalls } from "#kernel";
import { type AddressGuard, BlockedAddressError, literalAddress } from "./address-guard.ts";
import { isOwnAddress, lookupElsewhere, OwnPortError } from "./own-ports.ts";
import type { Abort, Request, Response } from "./request.ts";
import { limitResponses, type ResponseLimiter } from "./response-limiter.ts";
import { ResponseReader } from "./response-reader.ts";

const KEEP_ALIVE_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;

export type OwnPorts = () => readonly number[];

/** Sends requests over keep-alive connections whose addresses the guard has checked. Does not follow redirects. */
export class Sender {
  readonly #makeAgent: () => Agent;
  #agent: Agent;
  /** How many requests of each agent have not ended: of the current agent and of earlier ones. */
  readonly #unfinished = new Map<Agent, number>();
  #isClosed = false;
  /** How often the event loop had been stalled when the agent was made. */
  #stalls = stalls.count;
  #limiter: ResponseLimiter | null = null;

  /** @param ownPorts the ports on which this node listens, which no call may reach on this machine */
  constructor(guard: AddressGuard, ownPorts: OwnPorts = () => []) {
    const connect = limitResponses(guardedConnector(guard, ownPorts), (limiter) => {
      this.#limiter = limiter;
    });
    this.#makeAgent = () =>
      new Agent({
        pipelining: 1,
        keepAliveTimeout: KEEP_ALIVE_MS,
        // A handler's `Keep-Alive` header must not lengthen this.
        keepAliveMaxTimeout: KEEP_ALIVE_MS,
        // The caller has one timeout for the whole request.
        headersTimeout: 0,
        bodyTimeout: 0,
        connect,
      });
    this.#agent = this.#makeAgent();
  }

  send(request: Request, onDone: (response: Response) => void): Abort {
    let used: Agent | undefined;
    const useAgent = (agent: Agent | undefined) => {
      if (agent) this.#count(agent, 1);
      if (used) this.#count(used, -1);
      used = agent;
    };
    const onEnd = (response: Response) => {
      useAgent(undefined);
      onDone(response);
    };
    const reader = new ResponseReader(request, () => this.#limiter, onEnd);
    const { origin, path, method = "POST", headers, body } = request;
    const dispatch = () => {
      this.#leaveStale();
      const agent = this.#agent;
      useAgent(agent);
      // The event loop may be stalled between the dispatch and the write.
      reader.expect(() => {
        this.#leaveStale();
        return this.#agent !== agent;
      }, dispatch);
      try {
        agent.dispatch({ origin, path, method: method as Dispatcher.HttpMethod, headers, body }, reader);
      } catch (error) {
        reader.onResponseError(null, error as Error);
      }
    };
    dispatch();
    return (reason) => reader.abort(reason);
  }

  /**
   * Switches to new connections after the event loop was stalled: idle connections may have been closed in the meantime, which may not have
   * been read yet.
   */
  #leaveStale(): void {
    const { count } = stalls;
    if (this.#isClosed || this.#stalls === count) return;
    this.#stalls = count;
    const stale = this.#agent;
    this.#agent = this.#makeAgent();
    if (!this.#unfinished.has(stale)) void stale.close();
  }

  /**
   * Counts requests that have not ended. An earlier agent is closed after its last request: undici does not destroy the requests of a
   * closed agent.
   */
  #count(agent: Agent, change: 1 | -1): void {
    const unfinished = (this.#unfinished.get(agent) ?? 0) + change;
    if (unfinished > 0) this.#unfinished.set(agent, unfinished);
    else {
      this.#unfinished.delete(agent);
      if (agent !== this.#agent && !this.#isClosed) void agent.close();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...new Set([this.#agent, ...this.#unfinished.keys()])].map((agent) => agent.destroy()));
  }
}

/** Sockets call the guard's `lookup` for names only, so literals are checked before the connection is made. */
function guardedConnector(guard: AddressGuard, ownPorts: OwnPorts): buildConnector.connector {
  const connectorWith = (lookup: LookupFunction) => buildConnector({ allowH2: false, lookup, timeout: CONNECT_TIMEOUT_MS });
  const connect = connectorWith(guard.lookup);
  return (options, callback) => {
    const { hostname, protocol } = options;
    const port = Number(options.port || (protocol === "https:" ? 443 : 80));
    const isOwn = ownPorts().includes(port);
    const literal = literalAddress(hostname);
    const refuse = (error: Error) => queueMicrotask(() => callback(error, null));
    if (guard.refusesHost(hostname)) refuse(new BlockedAddressError(hostname, null));
    else if (isOwn && literal !== null && isOwnAddress(literal)) refuse(new OwnPortError(hostname, port));
    else if (isOwn) connectorWith(lookupElsewhere(guard.lookup, port))(options, callback);
    else connect(options, callback);
  };
}
