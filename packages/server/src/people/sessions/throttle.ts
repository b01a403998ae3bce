import { createHash } from "node:crypto";
import { type Db, problem } from "#kernel";
import { countTry, uncountTries } from "./throttle-store.ts";

const MINUTE = 60;
const HOUR = 3_600;

/** How often something may be tried in a window of time. Each limit is counted separately. */
const THROTTLES = {
  /** Passwords for an account, from one address, so that nobody can keep its owner from signing in. */
  signInFrom: { tries: 10, seconds: 15 * MINUTE },
  /** Passwords in a browser in which the person has signed in before: nobody else uses these up (`known-devices.ts`). */
  signInDevice: { tries: 10, seconds: 15 * MINUTE },
  /** Passwords for an account from all addresses together, except known browsers. */
  signInTo: { tries: 100, seconds: HOUR },
  signInAddress: { tries: 100, seconds: 15 * MINUTE },
  /** Codes of six digits: three of a million are right. */
  code: { tries: 5, seconds: 15 * MINUTE },
  codeLong: { tries: 50, seconds: 24 * HOUR },
  /** Proofs of somebody who is signed in: passwords to confirm or to change. */
  proof: { tries: 10, seconds: 15 * MINUTE },
  link: { tries: 60, seconds: 15 * MINUTE },
  resetTo: { tries: 5, seconds: HOUR },
  resetAddress: { tries: 20, seconds: HOUR },
  /**
   * Addresses with an account that holders of an invitation name, who thereby learn about the account. Counted for the invitation, and for
   * all invitations of its maker.
   */
  takenAddress: { tries: 5, seconds: 72 * HOUR },
  takenAddressBy: { tries: 20, seconds: 24 * HOUR },
  invitationOf: { tries: 50, seconds: HOUR },
  invitationTo: { tries: 5, seconds: HOUR },
  signUpTo: { tries: 3, seconds: HOUR },
  signUpAddress: { tries: 10, seconds: HOUR },
} as const satisfies Record<string, { tries: number; seconds: number }>;

export type Throttle = keyof typeof THROTTLES;

/** What is limited, as it is stored: nobody can read addresses from the table. */
const keyOf = (throttle: Throttle, of: string): string => `${throttle}:${createHash("sha256").update(of).digest("base64url")}`;

/**
 * Counts a try against each limit, until one is used up. The limits hold across all nodes.
 *
 * @param of the subject of each limit: an account, an address
 * @returns a function that takes the tries back, for a try that was not an attack
 * @throws RATE_LIMITED
 */
export async function throttle(db: Db, of: Partial<Record<Throttle, string>>): Promise<() => Promise<unknown>> {
  const keys: string[] = [];
  for (const [name, what] of Object.entries(of) as [Throttle, string][]) {
    const { tries: limit, seconds } = THROTTLES[name];
    const key = keyOf(name, what);
    const { tries, endsInSeconds } = await countTry(db, key, seconds);
    if (tries > limit) throw tooMany(Math.max(1, endsInSeconds));
    keys.push(key);
  }
  return () => uncountTries(db, keys);
}

const tooMany = (seconds: number) =>
  problem(
    "RATE_LIMITED",
    { retry_after_seconds: seconds },
    { message: `Too many tries. Wait ${waitText(seconds)}, then try again.`, headers: { "Retry-After": String(seconds) } },
  );

function waitText(seconds: number): string {
  const minutes = Math.ceil(seconds / MINUTE);
  const [count, unit] = minutes < 120 ? [minutes, "minute"] : [Math.ceil(seconds / HOUR), "hour"];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
