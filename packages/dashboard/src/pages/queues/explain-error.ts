import { ApiError } from "../../api/api-error.ts";

/** If an error is about the plan: an error that also says what to do here. Otherwise the error itself. */
function explainError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code !== "PLAN_REQUIRED") return error;
  return new ApiError(`${error.message} On this plan, leave the address empty: workers take the jobs.`, error);
}

/** Does something, and explains its errors. */
export const explained = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw explainError(error);
  }
};
