import type { Reply } from "./ask.ts";

const HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit-policy", "ratelimit"];

/** What a reply says of the rate; null where it says nothing. */
export const rateOf = ({ headers }: Reply): Record<string, string | null> =>
  Object.fromEntries(HEADERS.map((name) => [name, headers.get(name)]));
