/** The trace that a job belongs to, in the headers of W3C Trace Context. */
export interface Trace {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/** Version, trace id, parent id, flags; later versions may have more. Ids of zeros alone, and the version ff, are invalid. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[ -~]{1,200})?$/;
const VERSION_0 = /^00-.{52}$/;
/** A longer `tracestate` need not be kept. Source: W3C Trace Context, 3.3.1.5. */
const TRACESTATE = /^[ -~]{1,512}$/;

/**
 * The trace of a request. Null when it has none, or an invalid one: an invalid trace is not an error of the request, but the trace ends
 * there.
 */
export function traceOf({ traceparent, tracestate }: Readonly<Record<string, unknown>>): Trace | null {
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return null;
  if (traceparent.startsWith("00") && !VERSION_0.test(traceparent)) return null;
  return { traceparent, tracestate: typeof tracestate === "string" && TRACESTATE.test(tracestate) ? tracestate : null };
}
