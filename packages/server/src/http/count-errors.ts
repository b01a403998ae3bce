import { Counter, type Registry } from "prom-client";

/** A metric that no event changes: events are of what went wrong, and this is of what callers saw. */
export const HTTP_ERRORS = {
  name: "tidemill_http_errors_total",
  help: "Responses of the API with a status of 500 or more: 503 if the node cannot serve the request for now, 500 for a fault of the service.",
  labels: ["status"],
} as const;

/** Returns a function that counts responses which report an error of the service, by their status. */
export function countErrors(registry: Registry): (status: number) => void {
  const { name, help, labels } = HTTP_ERRORS;
  const counter = new Counter({ name, help, labelNames: [...labels], registers: [registry] });
  return (status) => counter.inc({ status });
}
