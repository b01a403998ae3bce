import { ApiError } from "../../api/api-error.ts";

const FEATURES: Readonly<Record<string, string>> = { callback_url: "callbacks" };

/** If an error is about the plan: an error that says what this means here. Otherwise the error itself. */
function explainError(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { code, details } = error;
  if (code === "PLAN_REQUIRED") {
    const plans = Array.isArray(details.required_plans) ? details.required_plans.join(", ") : "";
    const feature = FEATURES[String(details.feature)] ?? String(details.feature);
    const message = `The plan ${details.plan} does not have ${feature}. Plans that do: ${plans}. On this plan, leave the address empty: workers take the jobs.`;
    return new ApiError(message, error);
  }
  if (code === "QUOTA_EXCEEDED") {
    const message = `The month's ${details.limit} executions of the plan ${details.plan} are used up (${details.used}). Jobs are accepted again next month, or on a larger plan.`;
    return new ApiError(message, error);
  }
  return error;
}

/** Does something, and explains its errors. */
export const explained = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw explainError(error);
  }
};
