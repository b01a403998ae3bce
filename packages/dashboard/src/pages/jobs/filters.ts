import { useMemo } from "react";
import { type Filters, useFilters } from "../../app/use-filters.ts";
import { nowMs, toMoment } from "../../time/clock.ts";
import type { FilterField } from "../../ui/FilterBar.tsx";

/** In order of life. */
const JOB_STATES = ["waiting", "delayed", "pending_approval", "active", "completed", "failed", "cancelled", "rejected"] as const;

const ERRORS = [
  "HTTP_STATUS",
  "TIMEOUT",
  "CONNECTION",
  "DNS",
  "BLOCKED_ADDRESS",
  "REDIRECT",
  "SECRET_NOT_FOUND",
  "SECRET_NOT_ALLOWED",
  "SECRET_UNREADABLE",
  "TEMPLATE_INVALID",
  "WORKER_FAILED",
  "LEASE_EXPIRED",
  "NODE_LOST",
] as const;

const PERIODS: Readonly<Record<string, number>> = {
  "15 minutes": 900_000,
  "1 hour": 3_600_000,
  "24 hours": 86_400_000,
  "7 days": 604_800_000,
};

const NAMES = [
  "state",
  "queue",
  "tag",
  "concurrency_key",
  "error_code",
  "fingerprint",
  "id",
  "payload_contains",
  "last",
  "created_after",
  "created_before",
] as const;
type Name = (typeof NAMES)[number];

export const JOB_FIELDS: readonly FilterField<Name>[] = [
  { name: "state", label: "State", choices: JOB_STATES },
  { name: "error_code", label: "Error", choices: ERRORS },
  { name: "last", label: "Enqueued in the last", choices: Object.keys(PERIODS), single: true },
  { name: "queue", label: "Queue" },
  { name: "tag", label: "Tag" },
  { name: "concurrency_key", label: "Concurrency key" },
  { name: "id", label: "Job id", placeholder: "job_…" },
  { name: "payload_contains", label: "Part of the payload", placeholder: "Payload contains" },
  { name: "created_after", label: "Enqueued from", placeholder: "From 2026-11-21T09:00:00Z", width: "13.5rem" },
  { name: "created_before", label: "Enqueued before", placeholder: "Before 2026-11-21T10:00:00Z", width: "13.5rem" },
];

export interface JobFilters extends Filters<Name> {
  /** The filters as the API takes them. */
  readonly request: Readonly<Record<string, string>>;
}

/** The filters of the list of jobs. */
export function useJobFilters(): JobFilters {
  const filters = useFilters(...NAMES);
  const { query } = filters;
  const request = useMemo(() => {
    const { last, ...given } = query;
    if (last === undefined) return given;
    const period = PERIODS[last];
    // An invalid period is refused by the service instead of being ignored.
    return { ...given, created_after: period === undefined ? last : toMoment(nowMs() - period) };
  }, [query]);
  return { ...filters, request };
}
