import type { Problem } from "@tidemill/contract";
import { TidemillError } from "./error.ts";
import type { ResponseHead } from "./http/response-parser.ts";

/** The error of a response that is not a success. */
export function responseError({ status, headers }: Pick<ResponseHead, "status" | "headers">, text: string): TidemillError {
  const requestId = headers.get("x-request-id");
  const retryAfterMs = readRetryAfter(headers.get("retry-after"));
  const problem = readProblem(text);
  if (problem) return new TidemillError({ ...problem, status, requestId, retryAfterMs });
  const location = headers.get("location");
  const what = location === null ? `"${excerpt(text)}"` : `a redirect to ${location}, which is not followed`;
  const message = `The response did not come from Tidemill: status ${status} with ${what}.`;
  return new TidemillError({ code: "UNEXPECTED_RESPONSE", message, status, requestId, retryAfterMs });
}

/** Other services name errors in another way, in the same fields. */
const CODE = /^[A-Z][A-Z_]*$/;

function readProblem(text: string): Problem["error"] | null {
  try {
    const { error } = JSON.parse(text) as Partial<Problem>;
    return typeof error?.code === "string" && CODE.test(error.code) && typeof error.message === "string" ? error : null;
  } catch {
    return null;
  }
}

/** The service sends seconds. Other servers may send a date, which is ignored. */
function readRetryAfter(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header.trim()) ? Number(header) * 1000 : null;
}

const MAX_EXCERPT = 200;

const excerpt = (text: string): string => (text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text);
