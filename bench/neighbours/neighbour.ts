import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { DELIVERIES, type Delivery, REQUESTS, type RequestKind, type Sample, type Samples } from "./samples.ts";
import { NAMED_HOST } from "./settings.ts";

/** Requests a second of each kind. */
const PER_SECOND: Record<RequestKind, number> = {
  single: 10,
  batch: 2,
  delayed: 5,
  keyed: 5,
  secret: 4,
  named: 4,
  "GET job": 4,
  "list jobs": 3,
  "GET queue": 3,
};
const BATCH_JOBS = 5;
const KEYS = 8;
const DELAY_SECONDS = 1;
const REQUEST_TIMEOUT_MS = 30_000;
const GIVE_UP_MS = 30_000;
const NAMED: Delivery = "named";
const SECRET = "NEIGHBOUR_TOKEN";

interface Accepted {
  readonly id: string;
  readonly run_at: string;
}

/** The API that the neighbour calls, at each of its nodes in turn. */
export interface NeighbourOptions {
  readonly urls: readonly string[];
  readonly key: string;
}

const nowMs = () => performance.timeOrigin + performance.now();

const byKind = <Kind extends RequestKind>(kinds: readonly Kind[], samples: readonly Sample[]) =>
  Object.fromEntries(kinds.map((of) => [of, samples.filter(({ kind }) => kind === of).map(({ ms }) => ms)])) as Record<Kind, number[]>;

/** A tenant who does nothing unusual: enqueues and reads at a modest pace. Its handler answers at once. */
export class Neighbour {
  readonly #options: NeighbourOptions;
  readonly #arrivedMs: Map<string, number>;
  #sent = 0;
  #lastJob = "";
  #expected: { id: string; kind: Delivery; fromMs: number }[] = [];
  #requests: Sample[] = [];
  #refused: Record<string, number> = {};
  #beganMs = 0;

  private constructor(options: NeighbourOptions, arrivedMs: Map<string, number>) {
    this.#options = options;
    this.#arrivedMs = arrivedMs;
  }

  /** Starts the handler, and creates a queue for each kind of job. */
  static async open(options: NeighbourOptions): Promise<Neighbour> {
    const arrivedMs = new Map<string, number>();
    const server = createServer((request, response) => {
      arrivedMs.set(String(request.headers["x-service-job-id"]), nowMs());
      request.resume();
      // The next callback to a name looks it up again.
      if (request.url === `/${NAMED}`) response.setHeader("connection", "close");
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const neighbour = new Neighbour(options, arrivedMs);
    await neighbour.#api("POST", "/v1/secrets", { name: SECRET, value: "sk_live_4eC39HqLyjWDarjtT1zdp7dc" });
    for (const name of DELIVERIES) {
      const host = name === NAMED ? NAMED_HOST : "127.0.0.1";
      await neighbour.#api("POST", "/v1/queues", { name, callback_url: `http://${host}:${port}/${name}` });
    }
    // Reads need a job to ask for.
    await neighbour.#enqueue("single");
    return neighbour;
  }

  /** Runs for some seconds, then waits until every request is answered and every job has arrived, or gives up. */
  async measure(seconds: number): Promise<Samples> {
    this.#expected = [];
    this.#requests = [];
    this.#beganMs = nowMs();
    this.#refused = {};
    await Promise.all(REQUESTS.map((kind, index) => this.#repeat(kind, seconds, index / REQUESTS.length)));
    const untilMs = nowMs() + GIVE_UP_MS;
    const missing = () => this.#expected.filter(({ id }) => !this.#arrivedMs.has(id)).length;
    while (missing() > 0 && nowMs() < untilMs) await wait(20);
    const endMs = nowMs();
    const deliveries = this.#expected.map(({ id, kind, fromMs }): Sample => {
      const ms = Math.max(0, (this.#arrivedMs.get(id) ?? endMs) - fromMs);
      return { what: "delivery", kind, atMs: fromMs - this.#beganMs, ms };
    });
    return {
      requests: byKind(REQUESTS, this.#requests),
      deliveries: byKind(DELIVERIES, deliveries),
      refused: this.#refused,
      undelivered: missing(),
      each: [...this.#requests, ...deliveries],
    };
  }

  /** Sends requests of a kind at their pace, whether earlier ones are answered or not. */
  async #repeat(kind: RequestKind, seconds: number, phase: number): Promise<void> {
    const intervalMs = 1_000 / PER_SECOND[kind];
    const startMs = performance.now() + phase * intervalMs;
    const pending: Promise<void>[] = [];
    for (let index = 0; index < seconds * PER_SECOND[kind]; index += 1) {
      await wait(Math.max(0, startMs + index * intervalMs - performance.now()));
      pending.push(this.#request(kind));
    }
    await Promise.all(pending);
  }

  async #request(kind: RequestKind): Promise<void> {
    const startedMs = nowMs();
    let why: string | null = null;
    try {
      await this.#perform(kind);
    } catch (error) {
      why = error instanceof Refused ? error.message : ((error as { cause?: { code?: string } }).cause?.code ?? (error as Error).name);
    }
    this.#requests.push({ what: "request", kind, atMs: startedMs - this.#beganMs, ms: nowMs() - startedMs });
    if (why !== null) this.#refused[why] = (this.#refused[why] ?? 0) + 1;
  }

  async #perform(kind: RequestKind): Promise<void> {
    if (kind === "GET job") await this.#api("GET", `/v1/queues/single/jobs/${this.#lastJob}`);
    else if (kind === "list jobs") await this.#api("GET", "/v1/queues/single/jobs?limit=50");
    else if (kind === "GET queue") await this.#api("GET", "/v1/queues/single");
    else this.#expect(kind, await this.#enqueue(kind));
  }

  async #enqueue(kind: Delivery): Promise<Accepted[]> {
    const job = { payload: { to: "ada@example.com", subject: "Welcome", body: "x".repeat(60) } };
    const path = `/v1/queues/${kind}/jobs`;
    if (kind === "batch") {
      return (
        await this.#api<{ jobs: Accepted[] }>(
          "POST",
          `${path}/batch`,
          Array.from({ length: BATCH_JOBS }, () => job),
        )
      ).jobs;
    }
    const accepted = await this.#api<Accepted>("POST", path, {
      ...job,
      ...(kind === "delayed" && { delay: DELAY_SECONDS }),
      ...(kind === "keyed" && { concurrencyKey: `key-${this.#sent % KEYS}` }),
      ...(kind === "secret" && { payload: { token: `\${{ secrets.${SECRET} }}` } }),
    });
    if (kind === "single") this.#lastJob = accepted.id;
    return [accepted];
  }

  #expect(kind: Delivery, accepted: readonly Accepted[]): void {
    for (const { id, run_at } of accepted) this.#expected.push({ id, kind, fromMs: kind === "delayed" ? Date.parse(run_at) : nowMs() });
  }

  async #api<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const { urls, key } = this.#options;
    this.#sent += 1;
    const response = await fetch(`${urls[this.#sent % urls.length]}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new Refused(String(response.status));
    return JSON.parse(text) as Body;
  }
}

class Refused extends Error {}
