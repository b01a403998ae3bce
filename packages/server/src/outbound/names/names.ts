import { LRUCache } from "lru-cache";
import { after, type Clock, type SharedResource, type WorkspaceId } from "#kernel";
import type { Resolve } from "../address-guard.ts";
import { literalResolution, localhostResolution } from "./implied.ts";
import type { Lookup, LookupResult } from "./lookup.ts";
import { failed, type Resolution } from "./resolution.ts";
import type { SystemFiles, SystemNames } from "./system-files.ts";

const MAX_NAMES = 5_000;
/** Bounds of how long addresses are used, whatever their time to live. Seconds. */
const MIN_TTL_SECONDS = 1;
const MAX_TTL_SECONDS = 300;
/** A failure is used for less than most backoffs, so that each attempt of a job has a look-up of its own. Milliseconds. */
const FAILURE_MS = 100;
/** While a name cannot be looked up again, its last addresses are used, for so long at most. Source: RFC 8767. Milliseconds. */
const STALE_MS = 60_000;
const STALE_RETRY_MS = 5_000;
/** A look-up ends after this long, with all its tries. Seconds. */
const MAX_LOOKUP_SECONDS = 5;

export interface NamesOptions {
  readonly files: Pick<SystemFiles, "read" | "last">;
  readonly lookup: Pick<Lookup, "run">;
  /** Look-ups under way, which workspaces share. */
  readonly share: Pick<SharedResource, "use">;
  readonly clock: Pick<Clock, "elapsedMs">;
}

interface Known {
  readonly resolution: Resolution;
  readonly untilMs: number;
  /** Until when it is used in place of a failure. */
  readonly staleUntilMs: number;
}

/**
 * Resolves the names of handlers: from `/etc/hosts`, from what it knows by earlier look-ups, or by a look-up. Look-ups are shared by
 * workspaces, and so are their results.
 */
export class Names {
  readonly #options: NamesOptions;
  readonly #known = new LRUCache<string, Known>({ max: MAX_NAMES });
  /** Look-ups by name. */
  readonly #running = new Map<string, Promise<Resolution>>();
  /** Look-ups that run or wait for a turn, by workspace and name. */
  readonly #inTurn = new Map<string, Promise<Resolution>>();

  constructor(options: NamesOptions) {
    this.#options = options;
  }

  /**
   * The addresses of a URL's hostname, at once if they are known.
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

  /** Passes on what `resolve` found last, however long ago. For connections of requests whose hostname was resolved before. */
  readonly lookup: Resolve = (hostname, _options, callback) => {
    const resolution = this.#last(hostname);
    queueMicrotask(() => {
      if (resolution.kind === "found") callback(null, [...resolution.addresses]);
      else callback(resolution.error, []);
    });
  };

  #last(hostname: string): Resolution {
    const listed = listedResolution(this.#options.files.last, hostname);
    return listed ?? this.#known.peek(hostname)?.resolution ?? failed(hostname, "LOOKUP_NOT_RUN");
  }

  #resolveWith(files: SystemNames, workspaceId: WorkspaceId, hostname: string): Resolution | Promise<Resolution> {
    const found = listedResolution(files, hostname) ?? this.#fresh(hostname) ?? this.#running.get(hostname);
    return found ?? shared(this.#inTurn, `${workspaceId} ${hostname}`, () => this.#lookUpInTurn(files, workspaceId, hostname));
  }

  #fresh(hostname: string): Resolution | undefined {
    const known = this.#known.get(hostname);
    return known && known.untilMs > this.#options.clock.elapsedMs() ? known.resolution : undefined;
  }

  #lookUpInTurn(files: SystemNames, workspaceId: WorkspaceId, hostname: string): Promise<Resolution> {
    return this.#options.share.use(
      workspaceId,
      async () => this.#fresh(hostname) ?? shared(this.#running, hostname, () => this.#lookUp(files, workspaceId, hostname)),
    );
  }

  async #lookUp({ search }: SystemNames, workspaceId: WorkspaceId, hostname: string): Promise<Resolution> {
    const late = after(MAX_LOOKUP_SECONDS).then(() => ({ resolution: failed(hostname, "EAI_AGAIN"), ttlSeconds: 0 }));
    const result = await Promise.race([this.#options.lookup.run(workspaceId, hostname, search), late]);
    const known = toKnow(result, this.#known.peek(hostname), this.#options.clock.elapsedMs());
    this.#known.set(hostname, known);
    return known.resolution;
  }
}

/** What is known of a name after a look-up. */
function toKnow({ resolution, ttlSeconds }: LookupResult, before: Known | undefined, nowMs: number): Known {
  if (resolution.kind === "found") {
    const untilMs = nowMs + 1_000 * Math.min(Math.max(ttlSeconds, MIN_TTL_SECONDS), MAX_TTL_SECONDS);
    return { resolution, untilMs, staleUntilMs: untilMs + STALE_MS };
  }
  const isStale = resolution.error.code !== "ENOTFOUND" && before && before.staleUntilMs > nowMs;
  return isStale ? { ...before, untilMs: nowMs + STALE_RETRY_MS } : { resolution, untilMs: nowMs + FAILURE_MS, staleUntilMs: 0 };
}

function listedResolution({ hosts }: SystemNames, hostname: string): Resolution | undefined {
  const addresses = hosts.get(hostname.replace(/\.$/, ""));
  return addresses ? { kind: "found", addresses } : localhostResolution(hostname);
}

/** Starts work that has not ended yet for this key only once. */
function shared<Result>(running: Map<string, Promise<Result>>, key: string, start: () => Promise<Result>): Promise<Result> {
  const known = running.get(key);
  if (known) return known;
  const started = start().finally(() => running.delete(key));
  running.set(key, started);
  return started;
}
