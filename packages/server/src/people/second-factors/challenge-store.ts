import { createHash } from "node:crypto";
import { type Db, type PersonId, row, rows, sql } from "#kernel";

export interface Challenge {
  readonly personId: PersonId | null;
  readonly about: string | null;
}

const hashOf = (challenge: string): Buffer => createHash("sha256").update(challenge).digest();

/** Remembers a challenge for ten minutes. */
export const putChallenge = (
  db: Db,
  purpose: string,
  challenge: string,
  personId: PersonId | null,
  about: string | null,
): Promise<unknown> =>
  rows(
    db,
    sql`
      insert into challenge (hash, purpose, person_id, about, expires_at)
      values (${hashOf(challenge)}, ${purpose}, ${personId}, ${about}, moment() + interval '10 minutes')`,
  );

/** Uses up a challenge. Null when there was none, when it is too old, or when it was already answered. Uses the primary key. */
export const takeChallenge = (db: Db, purpose: string, challenge: string): Promise<Challenge | null> =>
  row(
    db,
    sql`
      delete from challenge where hash = ${hashOf(challenge)} and purpose = ${purpose} and expires_at > moment()
      returning person_id as "personId", about`,
  );

/** Uses index challenge_expiry. */
export const sweepChallenges = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`delete from challenge where ctid = any(array(select ctid from challenge where expires_at <= moment() order by expires_at limit 10000))`,
  );
