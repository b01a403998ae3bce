import { elapsedMs } from "../clock.ts";
import { TidemillError } from "../error.ts";
import type { CallOptions } from "../options.ts";
import { chance } from "../random.ts";
import { maySendAgain, waitBeforeNext } from "../retry.ts";
import type { Transport } from "../transport.ts";
import { wait } from "../wait.ts";
import { EventParser, type StreamEvent } from "./event-parser.ts";

/** The service sends something every 15 seconds. A connection that brings nothing for this long is dead. Milliseconds. */
const IDLE_MS = 45_000;

export interface FollowedStream {
  readonly path: string;
  /** What it brings, for errors. */
  readonly what: string;
  /** Headers of the next connection. */
  readonly headers: () => Record<string, string>;
}

/**
 * Reads the events of a stream. When the connection breaks, it reconnects. It ends when the service says that there is nothing more. Each
 * connection begins with null.
 */
export async function* followStream(
  transport: Transport,
  { path, what, headers }: FollowedStream,
  { signal, timeoutMs }: CallOptions = {},
): AsyncGenerator<StreamEvent | null, void> {
  const { settings } = transport;
  let failures = 0;
  let failingSinceMs: number | null = null;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const stream = transport.openStream(
        { method: "GET", path, headers: headers(), repeatable: true },
        { signal, timeoutMs, idleMs: IDLE_MS },
      );
      const parser = new EventParser();
      let isOpen = false;
      for await (const text of stream) {
        failures = 0;
        failingSinceMs = null;
        if (!isOpen) yield null;
        isOpen = true;
        yield* parser.push(text);
      }
      if (stream.isEmpty) return;
      throw new TidemillError({ code: "NO_RESPONSE", message: `${settings.url} ended the ${what}.` });
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
