import { laneOf } from "./engine.ts";
import type { Handler } from "./handler.ts";
import { NEVER_POLL, testWith } from "./nodes.ts";
import { type Service, until } from "./service.ts";

type Called = Handler & { queue: string };

/** Opens circuits, one job after the other, and moves the clock to their probes. */
class CircuitFixture {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  get nowMs(): number {
    return this.#service.clock.nowMs();
  }

  /** A queue whose jobs have one attempt. `failures` of them have already failed with 500. */
  async dead(failures: number, settings: object = {}): Promise<Called> {
    const handler = await this.#service.handler({ answers: 500, defaultJobOptions: { attempts: 1, backoff: { delay: 0 } }, ...settings });
    await this.failing(handler, failures);
    return handler;
  }

  /** As `dead`, with an open circuit. */
  async open(settings: object = {}): Promise<Called> {
    const handler = await this.dead(20, settings);
    if ((await this.circuit(handler)).state !== "open") throw new Error("The circuit is not open.");
    return handler;
  }

  /** Lets jobs fail with 500, one after the other. */
  async failing(handler: Called, failures: number): Promise<void> {
    handler.answers = 500;
    for (let failure = 0; failure < failures; failure += 1) await this.fail(handler);
  }

  async fail({ queue }: Called): Promise<void> {
    await this.#service.untilState(await this.#service.enqueue({ queue }), "failed");
  }

  /** Lets one job succeed. Afterwards the handler responds as before. */
  async succeed(handler: Called): Promise<void> {
    const { answers } = handler;
    handler.answers = 200;
    await this.#service.untilState(await this.#service.enqueue({ queue: handler.queue }), "completed");
    handler.answers = answers;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as in Service.
  async circuit({ queue }: { queue: string }): Promise<any> {
    return (await this.#service.ok("GET", `/v1/queues/${queue}`)).circuit;
  }

  async metrics({ queue }: { queue: string }): Promise<Record<string, number>> {
    return (await this.#service.ok("GET", `/v1/queues/${queue}`)).metrics;
  }

  async batch({ queue }: Called, count: number): Promise<{ id: string; queue: string }[]> {
    const jobs = Array.from({ length: count }, (_, payload) => ({ payload }));
    return (await this.#service.ok("POST", `/v1/queues/${queue}/jobs/batch`, jobs)).jobs;
  }

  /** Lets a node poll for work, and waits until it has found a job that no wake-up announced. It claims other waiting jobs with it. */
  async look(by = this.#service): Promise<void> {
    const { database } = this.#service;
    const { queue } = await this.#service.handler({ paused: true });
    const job = await this.#service.enqueue({ queue });
    const { laneId } = await laneOf(this.#service, queue);
    await database.query("update lane set paused = false where id = $1", [laneId]);
    by.node.wake();
    await this.#service.untilState(job, "completed");
  }

  async passMs(ms: number): Promise<void> {
    await this.#service.moveTo(this.nowMs + ms);
  }

  /** Moves the clock to the next probe, and waits until the probe is settled. */
  async probe(handler: Called): Promise<void> {
    const before = handler.received.length;
    await this.#service.moveTo(Date.parse((await this.circuit(handler)).next_probe_at));
    await until(() => handler.received.length > before, "the probe");
    await until(async () => (await this.metrics(handler)).active === 0, "the probe to be settled");
  }
}

/** As `testWith`, with a node that scans for work only after wake-ups. */
export const test = testWith(NEVER_POLL).extend("stand", ({ service }) => new CircuitFixture(service));
