import { type RecordWithTtl, Resolver } from "node:dns";
import { after, systemCode } from "#kernel";
import type { Address } from "./resolution.ts";

/** What name servers say about a full name. */
export type NameAnswer =
  | { readonly kind: "found"; readonly addresses: readonly Address[]; readonly ttlSeconds: number }
  /** The name does not exist, or has no address. */
  | { readonly kind: "absent" }
  /** A name server could not tell. Other names may be tried. */
  | { readonly kind: "unknown" }
  | { readonly kind: "silent" }
  /** No name server of this node can be reached, or none answers any query. */
  | { readonly kind: "unreachable" };

export interface NameServerOptions {
  /** Addresses, with or without ports. When empty, those of the system. */
  readonly servers: readonly string[];
  /** How long to wait for a name server, at first. Milliseconds. */
  readonly timeoutMs?: number;
  readonly tries?: number;
}

/** When one family of addresses is known, the other has this long. Seconds. */
const OTHER_FAMILY_SECONDS = 0.25;
/** If a name has more addresses of a family, the rest is left out: a name server could send thousands. */
const MAX_ADDRESSES = 8;
/** A try waits longer than the one before, but at most this long. Milliseconds. */
const MAX_TIMEOUT_MS = 2_000;
/** c-ares waits as briefly as 250 ms for a server that has been quick. With four tries, a slow name still has 4 seconds. */
const TIMEOUT_MS = 500;
const TRIES = 4;

/** One lost packet must not make a name server look silent. */
const PROBE_TRIES = 2;
/** How often at most to ask whether name servers answer. */
const PROBE_SECONDS = 1;

const ABSENT = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);
/** A refused connection (also when descriptors are lacking), and lack of memory. */
const UNREACHABLE = new Set(["ECONNREFUSED", "ENOMEM"]);

type FamilyAnswer = { readonly records: readonly RecordWithTtl[] } | { readonly code: string };

/** Asks name servers for the addresses of full names, without the threads that `dns.lookup` would use. */
export class NameServer {
  readonly #resolver: Resolver;
  readonly #prober: Resolver;
  #reachable: Promise<boolean> | undefined;

  constructor({ servers, timeoutMs = TIMEOUT_MS, tries = TRIES }: NameServerOptions) {
    this.#resolver = new Resolver({ timeout: timeoutMs, tries, maxTimeout: MAX_TIMEOUT_MS });
    this.#prober = new Resolver({ timeout: timeoutMs, tries: PROBE_TRIES, maxTimeout: timeoutMs });
    if (servers.length === 0) return;
    this.#resolver.setServers(servers);
    this.#prober.setServers(servers);
  }

  async ask(name: string): Promise<NameAnswer> {
    const { v4, v6 } = await this.#bothFamilies(name);
    const found = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
    if (found.length > 0) return { kind: "found", addresses: found, ttlSeconds: Math.min(ttlOf(v4), ttlOf(v6)) };
    const codes = [v4, v6].map((answer) => (answer && "code" in answer ? answer.code : "ENODATA"));
    if (codes.some((code) => UNREACHABLE.has(code))) return { kind: (await this.isReachable()) ? "unknown" : "unreachable" };
    if (codes.includes("ETIMEOUT")) return { kind: (await this.isReachable()) ? "silent" : "unreachable" };
    return { kind: codes.every((code) => ABSENT.has(code)) ? "absent" : "unknown" };
  }

  /** Asks for both families. A name server that is slow or broken for one family must not delay the other. */
  async #bothFamilies(name: string): Promise<{ v4: FamilyAnswer | undefined; v6: FamilyAnswer | undefined }> {
    const answers: { v4: FamilyAnswer | undefined; v6: FamilyAnswer | undefined } = { v4: undefined, v6: undefined };
    const both = [
      askFamily(this.#resolver, name, 4).then((answer) => (answers.v4 = answer)),
      askFamily(this.#resolver, name, 6).then((answer) => (answers.v6 = answer)),
    ];
    const all = Promise.all(both);
    const oneFound = Promise.any(both.map(async (one) => "records" in (await one) || Promise.reject()));
    const enough = oneFound.then(
      () => after(OTHER_FAMILY_SECONDS),
      () => all,
    );
    await Promise.race([all, enough]);
    return answers;
  }

  /**
   * Whether a name server answers a question whose answer is short. A refused connection alone proves nothing: a query whose answer is too
   * long for UDP is repeated over TCP, which some name servers do not speak. Silence proves nothing either: the name's own server may be
   * silent.
   */
  isReachable(): Promise<boolean> {
    this.#reachable ??= this.#probe();
    return this.#reachable;
  }

  async #probe(): Promise<boolean> {
    const answer = await askFamily(this.#prober, "localhost", 4);
    void after(PROBE_SECONDS).then(() => {
      this.#reachable = undefined;
    });
    return !("code" in answer && (UNREACHABLE.has(answer.code) || answer.code === "ETIMEOUT"));
  }
}

function askFamily(resolver: Resolver, name: string, family: 4 | 6): Promise<FamilyAnswer> {
  return new Promise((resolve) => {
    const done = (error: Error | null, records: RecordWithTtl[]) => resolve(error ? { code: systemCode(error) } : { records });
    if (family === 4) resolver.resolve4(name, { ttl: true }, done);
    else resolver.resolve6(name, { ttl: true }, done);
  });
}

const recordsOf = (answer: FamilyAnswer | undefined): readonly RecordWithTtl[] =>
  answer && "records" in answer ? answer.records.slice(0, MAX_ADDRESSES) : [];

const addressesOf = (answer: FamilyAnswer | undefined, family: 4 | 6): Address[] =>
  recordsOf(answer).map(({ address }) => ({ address, family }));

const ttlOf = (answer: FamilyAnswer | undefined): number => Math.min(...recordsOf(answer).map(({ ttl }) => ttl));
