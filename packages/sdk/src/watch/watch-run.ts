import type { RunEvent } from "@tidemill/contract";
import { pathOf } from "../api.ts";
import { elapsedMs } from "../clock.ts";
import { TidemillError } from "../error.ts";
import type { CallOptions } from "../options.ts";
import { chance } from "../random.ts";
import { maySendAgain, waitBeforeNext } from "../retry.ts";
import type { Transport } from "../transport.ts";
import { wait } from "../wait.ts";
import { EventParser, type StreamEvent } from "./event-parser.ts";

/** The service sends something every 15 seconds. A connection that brings nothing for so long is dead. Milliseconds. */
const IDLE_MS = 45_000;

/** Follows a run until it has ended. When the connection breaks, it connects again and goes on after the last event. */
export async function* watchRun(
  transport: Transport,
  runId: string,
  { signal, timeoutMs }: CallOptions = {},
): AsyncGenerator<RunEvent, void> {
  const { settings } = transport;
  const path = pathOf("runs", runId, "events");
  let lastId: string | undefined;
  let failures = 0;
  let failingSinceMs: number | null = null;
  const alive = () => {
    failures = 0;
    failingSinceMs = null;
  };
  for (;;) {
    signal?.throwIfAborted();
    try {
      const headers = lastId === undefined ? {} : { "last-event-id": lastId };
      const stream = transport.openStream({ method: "GET", path, headers, repeatable: true }, { signal, timeoutMs, idleMs: IDLE_MS });
      const parser = new EventParser();
      for await (const text of stream) {
        alive();
        for (const event of parser.push(text)) {
          lastId = event.id;
          const read = runEvent(event, settings.parseJson);
          if (read) yield read;
          if (read && hasEnded(read)) return;
        }
      }
      if (stream.isEmpty) return;
      throw new TidemillError({ code: "NO_RESPONSE", message: `${settings.url} ended the events of ${runId}.` });
    } catch (error) {
      if (!(error instanceof TidemillError) || !maySendAgain(error, { repeatable: true })) throw error;
      failures += 1;
      failingSinceMs ??= elapsedMs();
      const waitMs = waitBeforeNext(error, failures, chance());
      if (elapsedMs() - failingSinceMs + waitMs > settings.retryForMs) throw error;
      await wait(waitMs, signal);
    }
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
