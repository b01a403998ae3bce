import { Type } from "typebox";

/** The limits of a workspace. `null` means no limit. */
export interface Limits {
  executions_per_month: number | null;
  requests_per_minute: number | null;
  retention_days: number | null;
}

/** Features that only some plans have. */
export const FEATURES = ["callback_url", "webhooks"] as const;
export type Feature = (typeof FEATURES)[number];

interface PlanTerms {
  /** USD per month; null: agreed with each tenant. */
  readonly price: number | null;
  readonly limits: Limits;
  readonly features: readonly Feature[];
}

/** The plans and their terms, as the specification's tables give them (Plans; Limits). */
export const PLANS = {
  free: {
    price: 0,
    limits: { executions_per_month: 10_000, requests_per_minute: 60, retention_days: 7 },
    features: [],
  },
  pro: {
    price: 19,
    limits: { executions_per_month: 100_000, requests_per_minute: 300, retention_days: 30 },
    features: ["callback_url", "webhooks"],
  },
  team: {
    price: 99,
    limits: { executions_per_month: 1_000_000, requests_per_minute: 1_000, retention_days: 90 },
    features: ["callback_url", "webhooks"],
  },
  enterprise: {
    price: null,
    limits: { executions_per_month: null, requests_per_minute: null, retention_days: 365 },
    features: ["callback_url", "webhooks"],
  },
} as const satisfies Record<string, PlanTerms>;

export type Plan = keyof typeof PLANS;

export const PLAN_NAMES = Object.keys(PLANS) as Plan[];
export const PlanName = Type.Enum([...PLAN_NAMES], { title: "PlanName", description: "The plan of a workspace." });

export const planHas = (plan: Plan, feature: Feature): boolean => (PLANS[plan].features as readonly Feature[]).includes(feature);

export const plansWith = (feature: Feature): Plan[] => PLAN_NAMES.filter((plan) => planHas(plan, feature));
