import { Handler } from "./handler.ts";
import { type Service, until } from "./service.ts";

/** A webhook of a workspace, and the server that gets its events. */
export class Receiver {
  readonly name: string;
  readonly secret: string;
  readonly server: Handler;
  readonly #service: Service;

  private constructor(service: Service, server: Handler, name: string, secret: string) {
    this.#service = service;
    this.server = server;
    this.name = name;
    this.secret = secret;
  }

  static async create(
    service: Service,
    onTestFinished: (end: () => Promise<void>) => void,
    {
      events,
      name = "alerts",
      answers = 200,
      ...settings
    }: { events: readonly string[]; name?: string; answers?: Handler["answers"]; [setting: string]: unknown },
  ): Promise<Receiver> {
    const server = await Handler.listen(answers);
    onTestFinished(() => server.close());
    const { secret } = await service.ok("POST", "/v1/webhooks", { name, url: server.url, events, ...settings });
    return new Receiver(service, server, name, secret);
  }

  /** The events that arrived, in order. */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows which data it expects. A wrong guess fails it.
  get events(): { id: string; type: string; timestamp: string; data: any }[] {
    return this.server.received.map(({ raw }) => JSON.parse(raw));
  }

  /** Waits until this many requests have arrived. The node looks for events that wait. */
  async untilReceived(count: number): Promise<void> {
    await until(() => {
      if (this.server.received.length < count) this.#service.node.wake();
      return this.server.received.length >= count;
    }, `${count} events to arrive`);
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above.
  async deliveries(query = ""): Promise<any[]> {
    return (await this.#service.ok("GET", `/v1/webhooks/${this.name}/deliveries${query}`)).data;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above.
  get(): Promise<any> {
    return this.#service.ok("GET", `/v1/webhooks/${this.name}`);
  }

  /** Waits until the newest delivery is in this state. */
  untilState(state: string): Promise<void> {
    return until(async () => {
      this.#service.node.wake();
      return (await this.deliveries())[0]?.state === state;
    }, `the newest delivery to be ${state}`);
  }

  /** Waits until no event of the workspace waits to be made deliveries of. */
  async untilTaken(): Promise<void> {
    await until(async () => {
      this.#service.node.wake();
      const [found] = await this.#service.database.query<{ n: number }>("select count(*)::int as n from event_outbox");
      return found?.n === 0;
    }, "all events to be taken");
  }
}
