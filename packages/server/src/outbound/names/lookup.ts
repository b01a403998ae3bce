import type { WorkspaceId } from "#kernel";
import { type NameAnswer, NameServer, type NameServerOptions } from "./name-server.ts";
import { failed, type LookupError, type Resolution } from "./resolution.ts";
import { fullNames, type SearchRules } from "./search-rules.ts";
import { isSystemName, type SystemLookup } from "./system-lookup.ts";

/** The system's resolver does not say how long its answers are valid. Seconds. */
const SYSTEM_TTL_SECONDS = 10;

export interface LookupResult {
  readonly resolution: Resolution;
  /** How long the result is valid, if the name was found. */
  readonly ttlSeconds: number;
}

/** Looks up names: asks name servers for the full names that a name may stand for, and then perhaps the system's resolver. */
export class Lookup {
  readonly #options: NameServerOptions;
  readonly #systemLookup: SystemLookup | null;
  #nameServer: NameServer | undefined;
  #search: SearchRules | undefined;

  constructor(options: NameServerOptions, systemLookup: SystemLookup | null) {
    this.#options = options;
    this.#systemLookup = systemLookup;
  }

  /**
   * @param givenUp when it is aborted, no further query is sent
   * @throws UNAVAILABLE when the workspace got no turn at the system's resolver
   */
  async run(workspaceId: WorkspaceId, hostname: string, search: SearchRules, givenUp: AbortSignal): Promise<LookupResult> {
    const answer = await this.#askAll(hostname, search, givenUp);
    if (answer.kind === "found") return { resolution: answer, ttlSeconds: answer.ttlSeconds };
    const bySystem = answer.kind === "absent" && isSystemName(hostname) && this.#systemLookup;
    const resolution = bySystem ? await bySystem(workspaceId, hostname) : failed(hostname, CODES[answer.kind]);
    return { resolution, ttlSeconds: SYSTEM_TTL_SECONDS };
  }

  /** Whether a name server of this node answers at all. */
  async isServed(): Promise<boolean> {
    return (await this.#nameServer?.isReachable()) ?? true;
  }

  /** Asks for one full name after the other, until one is found or a query gets no answer. */
  async #askAll(hostname: string, search: SearchRules, givenUp: AbortSignal): Promise<NameAnswer> {
    const nameServer = this.#serverFor(search);
    let answer: NameAnswer = { kind: "absent" };
    for (const name of fullNames(hostname, search)) {
      const next = await nameServer.ask(name);
      if (next.kind !== "absent") answer = next;
      if (givenUp.aborted) return { kind: "silent" };
      if (next.kind !== "absent" && next.kind !== "unknown") break;
    }
    return answer;
  }

  /** c-ares reads `/etc/resolv.conf` when a resolver is made. */
  #serverFor(search: SearchRules): NameServer {
    if (!this.#nameServer || search !== this.#search) this.#nameServer = new NameServer(this.#options);
    this.#search = search;
    return this.#nameServer;
  }
}

const CODES = {
  absent: "ENOTFOUND",
  unknown: "EAI_AGAIN",
  silent: "EAI_AGAIN",
  unreachable: "LOOKUP_NOT_RUN",
} as const satisfies Record<Exclude<NameAnswer["kind"], "found">, LookupError["code"]>;
