import { type Feature, type Plan, planHas, plansWith } from "@tidemill/contract";
import { type ProblemError, problem } from "#kernel";

/** What is wrong when a plan has not got a feature; null when it has. Source: specification, Plans; contract §1. */
export const missingFeature = (plan: Plan, feature: Feature): ProblemError | null =>
  planHas(plan, feature) ? null : problem("PLAN_REQUIRED", { feature, plan, required_plans: plansWith(feature) });
