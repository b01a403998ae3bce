import { type Feature, type Plan, planHas, plansWith } from "@tidemill/contract";
import { problem } from "#kernel";

/**
 * Checks that a plan includes a feature. Source: specification, Plans; contract §1.
 *
 * @throws PLAN_REQUIRED
 */
export function requireFeature(plan: Plan, feature: Feature): void {
  if (!planHas(plan, feature)) throw problem("PLAN_REQUIRED", { feature, plan, required_plans: plansWith(feature) });
}
