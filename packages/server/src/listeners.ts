import type { Registry } from "prom-client";
import {
  type Api,
  type Authenticator,
  checkHostOf,
  checkPorts,
  closeGently,
  closeImmediately,
  countErrors,
  createApi,
  listen,
  type Module,
  type RateLimiter,
} from "#http";
import {
  after,
  type Clock,
  type Config,
  type Database,
  type EmitEvent,
  portSockets,
  type Random,
  readFileLimit,
  type Service,
  type Shares,
} from "#kernel";
import { mountInternal, mountPublic } from "./app.ts";

/** The internal listener has connections of its own, so that metrics and the operator API can be reached whatever clients do. */
const INTERNAL_CONNECTIONS = 64;
const INTERNAL_SOCKETS = 8;

export interface ListenersOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly shares: Shares;
  readonly api: Database;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly modules: readonly Module[];
  readonly metrics: Registry;
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  /** Called when the node begins to stop, before it waits for requests in progress. */
  readonly drain: () => void;
}

export interface Listeners {
  /** Opens the ports. */
  readonly ports: Service;
  /** Serves requests. When it stops, it waits until requests in progress are answered. */
  readonly requests: Service;
  url(): string;
  internalUrl(): string;
  /** The ports that are open. */
  ownPorts(): readonly number[];
}

/**
 * Checks that the ports of both listeners can be opened.
 *
 * @throws an error with the code `EADDRINUSE` when another program has one of them
 */
export const checkListenerPorts = ({ host, port, internalHost, internalPort }: Config): Promise<void> =>
  checkPorts([
    { host, port },
    { host: internalHost, port: internalPort },
  ]);

/** Creates the public and the internal listener. */
export async function createListeners(options: ListenersOptions): Promise<Listeners> {
  const { config, clock, shares, api: database, random, emit, modules, metrics, authenticator, rateLimiter, drain } = options;
  let serving = false;
  const isReady = () => serving;
  const { allowedHosts: names, publicUrl } = config;
  const checkHost = (bound: string) => checkHostOf({ bound, names, publicUrl });
  const share = shares.clientConnections;
  const api = createApi({
    authenticator,
    rateLimiter,
    emit,
    random,
    shares,
    isServing: isReady,
    checkHost: checkHost(config.host),
    onServiceError: countErrors(metrics),
    connections: { listener: "public", max: share.capacity, clock, share },
  });
  await mountPublic(api, modules, { database, isReady }, { operatorPages: Boolean(authenticator.pages) });
  const internal = createApi({
    authenticator: { ...authenticator, pages: null },
    emit,
    random,
    checkHost: checkHost(config.internalHost),
    connections: { listener: "internal", max: INTERNAL_CONNECTIONS, clock },
  });
  mountInternal(internal, modules, metrics);
  let url = "";
  let internalUrl = "";
  return {
    ports: {
      start: async () => {
        url = await listen(api, config.host, config.port, portSockets(readFileLimit()));
        internalUrl = await listen(internal, config.internalHost, config.internalPort, INTERNAL_SOCKETS);
      },
      stop: () => Promise.all([closeImmediately(api), closeImmediately(internal)]),
    },
    requests: {
      start: () => {
        serving = true;
      },
      stop: async () => {
        serving = false;
        drain();
        // Before the node waits for attempts: jobs that requests store may start at once (eagerly).
        await Promise.race([closeGently(api), after(config.drainSeconds)]);
      },
    },
    url: () => url,
    internalUrl: () => internalUrl,
    ownPorts: () => [api, internal].flatMap(({ server }) => portOf(server.address()) ?? []),
  };
}

const portOf = (address: ReturnType<Api["server"]["address"]>): number | undefined =>
  typeof address === "object" ? address?.port : undefined;
