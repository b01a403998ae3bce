import { type Db, type EmitEvent, PeriodicLoop, type Random, type Service } from "#kernel";
import { sweepAccountEvents } from "./account-event-store.ts";
import { sweepLinks } from "./links/link-store.ts";
import { sweepChallenges } from "./second-factors/challenge-store.ts";
import { sweepDevices } from "./sessions/known-device-store.ts";
import { sweepSessions } from "./sessions/session-store.ts";
import { sweepThrottles } from "./sessions/throttle-store.ts";

const EVERY_MS = 600_000;

/** Removes sessions, links and counts of tries that have ended. */
export function createSweep(db: Db, emit: EmitEvent, random: Random): Service {
  const pass = async () => {
    await sweepSessions(db);
    await sweepLinks(db);
    await sweepThrottles(db);
    await sweepChallenges(db);
    await sweepDevices(db);
    await sweepAccountEvents(db);
  };
  return new PeriodicLoop({ name: "people", everyMs: EVERY_MS, pass }, emit, random);
}
