import { isHeaderValue } from "./http/header-value.ts";

/** The W3C headers that continue a trace. */
export interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** What `@opentelemetry/api` registers globally, whichever copy of it an application loads. */
interface OpenTelemetryApi {
  readonly context?: { active(): unknown };
  readonly propagation?: {
    inject(context: unknown, carrier: object, setter: { set(carrier: object, key: string, value: string): void }): void;
  };
}

const API = Symbol.for("opentelemetry.js.api.1");
const NONE: TraceHeaders = {};
const NAMES = new Set(["traceparent", "tracestate"]);

/** The trace of OpenTelemetry's active context. Empty without a trace, and where `@opentelemetry/api` is not in use. */
export function traceHeaders(): TraceHeaders {
  const { context, propagation } = ((globalThis as { [API]?: OpenTelemetryApi })[API] ?? {}) as OpenTelemetryApi;
  if (!context || !propagation) return NONE;
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers, {
    set: (carrier, key, value) => {
      // A trace must not fail a call.
      if (NAMES.has(key.toLowerCase()) && isHeaderValue(value)) (carrier as Record<string, string>)[key.toLowerCase()] = value;
    },
  });
  return headers;
}
