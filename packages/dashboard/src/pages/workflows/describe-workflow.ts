import type { Workflow } from "@tidemill/contract";

type Described = Pick<Workflow, "endpoint_url" | "events" | "cron" | "timezone">;

/** Who executes a workflow: an endpoint, by its host, or workers. */
export function servedBy({ endpoint_url: url }: Pick<Described, "endpoint_url">): string {
  if (url === null) return "workers";
  return URL.parse(url)?.host ?? url;
}

/** What starts runs of a workflow, other than the API. */
export function triggersOf({ events, cron, timezone }: Omit<Described, "endpoint_url">): string {
  const schedule = cron === null ? [] : [`${cron} (${timezone})`];
  return [...events, ...schedule].join(", ") || "API";
}
