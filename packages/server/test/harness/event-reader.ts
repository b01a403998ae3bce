import { until } from "./service.ts";

/** An event of a stream. */
export interface ReadEvent {
  readonly event: string;
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it expects. A wrong guess fails it.
  readonly data: any;
}

interface At {
  readonly node: { readonly url: string };
  readonly key: string;
}

/** A reader of a stream of events: of a run, or of what changes in a workspace. */
export class EventReader {
  readonly events: ReadEvent[] = [];
  readonly status: number;
  /** How the stream ended. */
  ended: "whole" | "broken" | null = null;
  #controller: AbortController;

  private constructor(response: Response, controller: AbortController) {
    this.status = response.status;
    this.#controller = controller;
    void this.#read(response).then(
      () => {
        this.ended = "whole";
      },
      () => {
        this.ended = "broken";
      },
    );
  }

  static open(at: At, runId: string, lastEventId?: string): Promise<EventReader> {
    return EventReader.#open(at, `/v1/runs/${runId}/events`, lastEventId);
  }

  /** Reads `GET /v1/live`. */
  static live(at: At): Promise<EventReader> {
    return EventReader.#open(at, "/v1/live");
  }

  static async #open({ node, key }: At, path: string, lastEventId?: string): Promise<EventReader> {
    const controller = new AbortController();
    const response = await fetch(`${node.url}${path}`, {
      headers: { authorization: `Bearer ${key}`, ...(lastEventId !== undefined && { "last-event-id": lastEventId }) },
      signal: controller.signal,
    });
    return new EventReader(response, controller);
  }

  get last(): ReadEvent | undefined {
    return this.events.at(-1);
  }

  /** What came, in short. */
  get names(): string[] {
    return this.events.map(({ event, data }) => (event === "step" ? `step ${data.key}` : event === "status" ? data.status : event));
  }

  /** The kinds of records that have changed. */
  get kinds(): ReadonlySet<string> {
    return new Set(this.events.flatMap(({ data }) => data.kinds));
  }

  async untilKinds(...kinds: string[]): Promise<void> {
    await until(() => kinds.every((kind) => this.kinds.has(kind)), `the kinds ${kinds.join(", ")}`);
  }

  untilNames(...names: string[]): Promise<void> {
    return until(() => names.every((name) => this.names.includes(name)), `the events ${names.join(", ")}, not ${this.names.join(", ")}`);
  }

  untilEnded(): Promise<void> {
    return until(() => this.ended !== null, "the stream to end");
  }

  close(): void {
    this.#controller.abort();
  }

  async #read(response: Response): Promise<void> {
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) this.#add(block);
    }
  }

  #add(block: string): void {
    const fields = new Map(block.split("\n").map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]));
    const event = fields.get("event");
    if (event) this.events.push({ event, id: fields.get("id") ?? "", data: JSON.parse(fields.get("data") ?? "null") });
  }
}
