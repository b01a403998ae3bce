/** What a workspace may use. `null` means no limit. */
export interface Limits {
  executions_per_month: number | null;
  requests_per_minute: number | null;
  retention_days: number | null;
}

/** The plans and their numbers, as the specification's tables give them (Plans; Limits). */
export const PLANS = {
  free: { executions_per_month: 10_000, requests_per_minute: 60, retention_days: 7 },
  pro: { executions_per_month: 100_000, requests_per_minute: 300, retention_days: 30 },
  team: { executions_per_month: 1_000_000, requests_per_minute: 1_000, retention_days: 90 },
  enterprise: { executions_per_month: null, requests_per_minute: null, retention_days: 365 },
} as const satisfies Record<string, Limits>;

export type Plan = keyof typeof PLANS;

export const PLAN_NAMES = Object.keys(PLANS) as Plan[];
