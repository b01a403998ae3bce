import { LRUCache } from "lru-cache";
import { type Clock, SharedCache, type SharedResource, setStallTolerantTimeout, type WorkspaceId } from "#kernel";
import type { AddressGuard } from "../address-guard.ts";
import { type CachedName, cachedAfter } from "./cached-name.ts";
import { literalResolution, localhostResolution } from "./implied.ts";
import type { Lookup, LookupResult } from "./lookup.ts";
import { failed, type Resolution } from "./resolution.ts";
import type { SystemFiles, SystemNames } from "./system-files.ts";

/** The maximum number of names in the cache that were found. */
const MAX_NAMES = 5_000;
/** Failures are used so briefly that few are needed. */
const MAX_FAILURES = 1_000;
/** A look-up is given up after this long. Milliseconds. */
const MAX_LOOKUP_MS = 5_000;
/** A name under this top-level domain never exists. Source: RFC 6761, section 6.4. */
const INVALID = /(^|\.)invalid\.?$/;

export interface NamesOptions {
  readonly files: Pick<SystemFiles, "read">;
  readonly lookup: Pick<Lookup, "run" | "isServed">;
  readonly guard: Pick<AddressGuard, "check">;
  /** Look-ups under way, which workspaces share. */
  readonly share: Pick<SharedResource, "takeInTurn" | "release">;
  readonly clock: Pick<Clock, "elapsedMs">;
  /** What was found, by name. */
  readonly cache?: SharedCache<string, CachedName>;
  readonly maxLookupMs?: number;
}

/**
 * Resolves the names of handlers: from `/etc/hosts`, from earlier look-ups, or by a look-up. Look-ups are shared by workspaces, and so are
 * their results. A name with a private address fails here like a name that does not exist.
 */
export class Names {
  readonly #options: NamesOptions;
  readonly #found: SharedCache<string, CachedName>;
  readonly #failures = new LRUCache<string, CachedName>({ max: MAX_FAILURES });
  /** Look-ups by name. */
  readonly #running = new Map<string, Promise<Resolution>>();
  /** Look-ups that run or wait for a turn, by workspace and name. */
  readonly #inTurn = new Map<string, Promise<Resolution>>();

  constructor(options: NamesOptions) {
    this.#options = options;
    this.#found = options.cache ?? new SharedCache(MAX_NAMES);
  }

  /**
   * The addresses of a URL's hostname. A promise unless they are cached.
   *
   * @throws UNAVAILABLE when the workspace got no turn for a look-up
   */
  resolve(workspaceId: WorkspaceId, hostname: string): Resolution | Promise<Resolution> {
    const literal = literalResolution(hostname);
    if (literal) return literal;
    const files = this.#options.files.read();
    return files instanceof Promise
      ? files.then((read) => this.#resolveWith(read, workspaceId, hostname))
      : this.#resolveWith(files, workspaceId, hostname);
  }

  #resolveWith(files: SystemNames, workspaceId: WorkspaceId, hostname: string): Resolution | Promise<Resolution> {
    const found = this.#listed(files, hostname) ?? this.#fresh(hostname) ?? this.#running.get(hostname);
    return found ?? shared(this.#inTurn, `${workspaceId} ${hostname}`, () => this.#lookUpInTurn(files, workspaceId, hostname));
  }

  /** Resolves a name without a look-up. */
  #listed({ hosts }: SystemNames, hostname: string): Resolution | undefined {
    const addresses = hosts.get(hostname.replace(/\.$/, ""));
    if (addresses) return this.#checked(hostname, { kind: "found", addresses });
    return INVALID.test(hostname) ? failed(hostname, "ENOTFOUND") : localhostResolution(hostname);
  }

  #fresh(hostname: string): Resolution | undefined {
    const nowMs = this.#options.clock.elapsedMs();
    const found = this.#found.get(hostname);
    if (found && found.untilMs > nowMs) return found.resolution;
    const failure = this.#failures.get(hostname);
    return failure && failure.untilMs > nowMs ? failure.resolution : undefined;
  }

  async #lookUpInTurn(files: SystemNames, workspaceId: WorkspaceId, hostname: string): Promise<Resolution> {
    await this.#options.share.takeInTurn(workspaceId);
    const known = this.#fresh(hostname) ?? this.#running.get(hostname);
    if (!known) return shared(this.#running, hostname, () => this.#lookUp(files, workspaceId, hostname));
    this.#options.share.release(workspaceId);
    return known;
  }

  async #lookUp(files: SystemNames, workspaceId: WorkspaceId, hostname: string): Promise<Resolution> {
    const { resolution, ttlSeconds } = await this.#run(files, workspaceId, hostname);
    const result = { resolution: this.#checked(hostname, resolution), ttlSeconds };
    const cached = cachedAfter(result, this.#found.get(hostname), this.#options.clock.elapsedMs());
    if (cached.resolution.kind === "found") this.#found.set(workspaceId, hostname, cached);
    else {
      this.#found.delete(hostname);
      this.#failures.set(hostname, cached);
    }
    return cached.resolution;
  }

  /** A look-up that is given up continues for a while, and holds its part of the share until it ends. */
  async #run({ search }: SystemNames, workspaceId: WorkspaceId, hostname: string): Promise<LookupResult> {
    const { lookup, share, maxLookupMs = MAX_LOOKUP_MS } = this.#options;
    const givenUp = new AbortController();
    const late = Promise.withResolvers<LookupResult>();
    const giveUp = async () => {
      givenUp.abort();
      return { resolution: failed(hostname, (await lookup.isServed()) ? "EAI_AGAIN" : "LOOKUP_NOT_RUN"), ttlSeconds: 0 };
    };
    const timer = setStallTolerantTimeout(() => late.resolve(giveUp()), maxLookupMs);
    const run = lookup.run(workspaceId, hostname, search, givenUp.signal).finally(() => {
      timer.clear();
      share.release(workspaceId);
    });
    return Promise.race([run, late.promise]);
  }

  #checked(hostname: string, resolution: Resolution): Resolution {
    if (resolution.kind === "failed") return resolution;
    const error = this.#options.guard.check(hostname, resolution.addresses);
    return error ? { kind: "failed", error, unsent: true } : resolution;
  }
}

/** Shares work: while work for this key is running, it is not started again. */
function shared<Result>(running: Map<string, Promise<Result>>, key: string, start: () => Promise<Result>): Promise<Result> {
  const known = running.get(key);
  if (known) return known;
  const started = start().finally(() => running.delete(key));
  running.set(key, started);
  return started;
}
