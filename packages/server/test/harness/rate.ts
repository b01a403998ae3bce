import type { Reply } from "./ask.ts";

const HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit-policy", "ratelimit"];

/** The rate-limit headers of a response. A missing header is null. */
export const rateOf = ({ headers }: Reply): Record<string, string | null> =>
  Object.fromEntries(HEADERS.map((name) => [name, headers.get(name)]));
