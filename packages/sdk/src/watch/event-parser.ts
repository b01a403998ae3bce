/** An event of a stream (text/event-stream). */
export interface StreamEvent {
  readonly event: string;
  /** Id of this event, or of the last event that had one. */
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads events from a stream as it comes. Comments, which keep a connection alive, are left out. */
export class EventParser {
  /** Pieces of a line that has not ended. They are joined once: a run with its journal is a line of up to 32 MB. */
  #pieces: string[] = [];
  #event = "";
  #id: string | undefined;
  #data: string[] = [];

  /** @returns the events that are complete now */
  push(text: string): StreamEvent[] {
    const ends = text.split("\n");
    const rest = ends.pop() ?? "";
    const events = ends.flatMap((end) => this.#read(this.#lineWith(end)) ?? []);
    if (rest !== "") this.#pieces.push(rest);
    return events;
  }

  #lineWith(end: string): string {
    const line = this.#pieces.length === 0 ? end : [...this.#pieces, end].join("");
    this.#pieces = [];
    return line.endsWith("\r") ? line.slice(0, -1) : line;
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
