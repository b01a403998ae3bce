/** An event of a stream (text/event-stream). */
export interface StreamEvent {
  readonly event: string;
  /** Of this event, or of the last one that had one. */
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads events from a stream as it comes. Comments, which keep a connection alive, are left out. */
export class EventParser {
  #rest = "";
  #event = "";
  #id: string | undefined;
  #data: string[] = [];

  /** @returns the events that are complete now */
  push(text: string): StreamEvent[] {
    const lines = (this.#rest + text).split(/\r\n|\n/);
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#read(line) ?? []);
  }

  #read(line: string): StreamEvent | null {
    if (line === "") return this.#end();
    const [, field, value = ""] = /^([^:]+):? ?(.*)$/s.exec(line) ?? [];
    if (field === "event") this.#event = value;
    if (field === "id") this.#id = value;
    if (field === "data") this.#data.push(value);
    return null;
  }

  #end(): StreamEvent | null {
    const event = { event: this.#event, id: this.#id, data: this.#data.join("\n") };
    this.#event = "";
    this.#data = [];
    return event.data === "" ? null : event;
  }
}
