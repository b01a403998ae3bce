import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { BenchNode, Environment } from "../environment.ts";
import type { Turns } from "../turns.ts";

const SCRAPE_TIMEOUT_MS = 60_000;

/** What a node showed of itself. Null where it did not answer. */
export interface NodeFigures {
  readonly peakMib: number | null;
  readonly loopP99Ms: number | null;
  readonly loopMaxMs: number | null;
  /** The same without what the node waited for a core of its machine, which it shares with PostgreSQL, the neighbour and the attackers. */
  readonly heldP99Ms: number | null;
  readonly heldMaxMs: number | null;
  /** Warnings and errors in its log, by event. */
  readonly events: Readonly<Record<string, number>>;
}

/** A node that is observed from outside: its memory, its log and its metrics. Linux only. */
export class WatchedNode {
  readonly node: BenchNode;
  readonly #events: Record<string, number>;

  private constructor(node: BenchNode, events: Record<string, number>) {
    this.node = node;
    this.#events = events;
  }

  static async start(environment: Environment, env: Record<string, string>, fileLimit: number | undefined): Promise<WatchedNode> {
    const events: Record<string, number> = {};
    const onLog = (line: string) => {
      const name = /"msg":"(\w+)"/.exec(line)?.[1] ?? "unstructured";
      events[name] = (events[name] ?? 0) + 1;
    };
    return new WatchedNode(await environment.node(env, { fileLimit, ownSession: true, onLog }), events);
  }

  /** Resets the peak of memory, the delays of the event loop, and the log. */
  async reset(): Promise<void> {
    // 5 resets the peak of the resident set (proc(5), clear_refs).
    writeFileSync(`/proc/${this.node.peer.pid}/clear_refs`, "5");
    await this.#scrape();
    await this.#turns();
    for (const name of Object.keys(this.#events)) delete this.#events[name];
  }

  async read(): Promise<NodeFigures> {
    const peakMib = this.#peakMib();
    const metrics = await this.#scrape().catch(() => "");
    const delay = (quantile: string): number | null => {
      const seconds = new RegExp(`^tidemill_event_loop_delay_seconds\\{quantile="${quantile}"\\} (.+)$`, "m").exec(metrics)?.[1];
      return seconds === undefined ? null : Number(seconds) * 1_000;
    };
    const turns = await this.#turns();
    return {
      peakMib,
      loopP99Ms: delay("0.99"),
      loopMaxMs: delay("1"),
      heldP99Ms: turns?.held.p99Ms ?? null,
      heldMaxMs: turns?.held.maxMs ?? null,
      events: { ...this.#events },
    };
  }

  #peakMib(): number | null {
    try {
      const status = readFileSync(`/proc/${this.node.peer.pid}/status`, "utf8");
      return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
    } catch {
      return null;
    }
  }

  #turns(): Promise<Turns | null> {
    return Promise.race([this.node.peer.ask<Turns>({ turns: true }), wait(SCRAPE_TIMEOUT_MS, null, { ref: false })]);
  }

  async #scrape(): Promise<string> {
    const response = await fetch(`${this.node.internalUrl}/metrics`, { signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MS) });
    return response.text();
  }
}
