import { type Feature, type Plan, planHas, plansWith } from "@tidemill/contract";
import { problem } from "#kernel";

/**
 * Lets a workspace on that plan go on with what needs the feature. Source: specification, Plans; contract §1.
 *
 * @throws PLAN_REQUIRED
 */
export function requireFeature(plan: Plan, feature: Feature): void {
  if (!planHas(plan, feature)) throw problem("PLAN_REQUIRED", { feature, plan, required_plans: plansWith(feature) });
}
