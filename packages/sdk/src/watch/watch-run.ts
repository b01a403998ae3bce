import type { RunEvent } from "@tidemill/contract";
import { pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { Transport } from "../transport.ts";
import type { StreamEvent } from "./event-parser.ts";
import { followStream } from "./follow-stream.ts";

/** Follows a run until it has ended. When the connection breaks, it reconnects and continues after the last event. */
export async function* watchRun(transport: Transport, runId: string, call?: CallOptions): AsyncGenerator<RunEvent, void> {
  let lastId: string | undefined;
  const events = followStream(
    transport,
    {
      path: pathOf("runs", runId, "events"),
      what: `events of ${runId}`,
      headers: () => (lastId === undefined ? {} : { "last-event-id": lastId }),
    },
    call,
  );
  for await (const event of events) {
    if (event === null) continue;
    lastId = event.id;
    const read = runEvent(event, transport.settings.parseJson);
    if (read) yield read;
    if (read && hasEnded(read)) return;
  }
}

/** Null for an event that this version does not know. */
function runEvent({ event, data }: StreamEvent, parseJson: (text: string) => unknown): RunEvent | null {
  const value = parseJson(data) as never;
  switch (event) {
    case "run":
      return { type: "run", run: value };
    case "step":
      return { type: "step", step: value };
    case "status":
      return { type: "status", status: value };
    case "progress":
      return { type: "progress", progress: (value as { readonly progress: unknown }).progress };
    default:
      return null;
  }
}

const hasEnded = (event: RunEvent): boolean =>
  (event.type === "run" && event.run.endedAt !== null) || (event.type === "status" && event.status.endedAt !== null);
