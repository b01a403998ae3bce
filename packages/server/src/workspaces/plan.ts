import { type Feature, type Plan, planHas, plansWith } from "@tidemill/contract";
import { problem } from "#kernel";

const FEATURE_WORDS: Record<Feature, string> = { callback_url: "callbacks", webhooks: "webhooks" };
/** "pro, team and enterprise". */
const PLAN_LIST = new Intl.ListFormat("en-GB");

/** "The plan free does not have callbacks. The plans pro, team and enterprise do." */
export function describeMissing(plan: Plan, feature: Feature): string {
  const plans = plansWith(feature);
  const others = plans.length === 1 ? `The plan ${plans[0]} does` : `The plans ${PLAN_LIST.format(plans)} do`;
  return `The plan ${plan} does not have ${FEATURE_WORDS[feature]}. ${others}.`;
}

/**
 * Checks that a plan includes a feature. Source: specification, Plans; contract §1.
 *
 * @throws PLAN_REQUIRED
 */
export function requireFeature(plan: Plan, feature: Feature): void {
  if (planHas(plan, feature)) return;
  throw problem("PLAN_REQUIRED", { feature, plan, required_plans: plansWith(feature) }, { message: describeMissing(plan, feature) });
}
