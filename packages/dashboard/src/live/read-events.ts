import { ApiError } from "../api/api-error.ts";

/** The service sends something every 15 seconds. Milliseconds. */
const IDLE_MS = 20_000;
/** If nothing arrives for this long, a proxy probably buffers the stream. Milliseconds. */
const FIRST_MS = 10_000;

export interface EventReading {
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
  readonly onKinds: (kinds: readonly string[]) => void;
}

/**
 * Reads a stream of `GET /v1/live` until it ends. By `fetch`, because an `EventSource` does not say why it is refused.
 *
 * @throws {ApiError} when it is refused, or breaks; with the code SILENT when nothing came for too long
 */
export async function readEvents(url: string, { signal, onOpen, onKinds }: EventReading): Promise<void> {
  const idle = new AbortController();
  let timer = setTimeout(() => idle.abort(), FIRST_MS);
  try {
    const response = await fetch(url, {
      headers: { Accept: "text/event-stream" },
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.any([signal, idle.signal]),
    });
    if (!response.ok || !response.body) throw refusal(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let isOpen = false; ; isOpen = true) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => idle.abort(), IDLE_MS);
      if (!isOpen) onOpen();
      const blocks = (text + value).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const kinds = kindsOf(block);
        if (kinds) onKinds(kinds);
      }
    }
  } catch (error) {
    if (error instanceof ApiError || signal.aborted) throw error;
    throw new ApiError("The stream of changes broke.", { status: 0, code: idle.signal.aborted ? "SILENT" : "UNREACHABLE" });
  } finally {
    clearTimeout(timer);
    idle.abort();
  }
}

function refusal({ status, headers }: Response): ApiError {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const retryAfterSeconds = Number.isFinite(seconds) ? seconds : null;
  return new ApiError(`The stream of changes is refused: ${status}.`, { status, code: "REFUSED", retryAfterSeconds });
}

/** The kinds that a `changed` event names. Null for others, and for comments. */
function kindsOf(block: string): readonly string[] | null {
  const lines = block.split("\n");
  const data = lines.find((line) => line.startsWith("data: "));
  return data && lines.includes("event: changed") ? (JSON.parse(data.slice(6)) as { kinds: string[] }).kinds : null;
}
