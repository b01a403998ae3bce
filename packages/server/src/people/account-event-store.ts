import type { AccountEventType } from "@tidemill/contract";
import { type Db, type PersonId, row, rows, sql, type Timestamp, type Uuid } from "#kernel";

export interface AccountEventRow {
  readonly id: Uuid;
  readonly event_type: AccountEventType;
  readonly actor_id: string;
  readonly address: string | null;
  readonly user_agent: string | null;
  readonly detail: string | null;
  readonly occurred_at: Timestamp;
}

export const insertAccountEvent = (db: Db, personId: PersonId, event: Omit<AccountEventRow, "occurred_at">): Promise<unknown> =>
  row(
    db,
    sql`
      insert into account_event (id, person_id, event_type, actor_id, address, user_agent, detail)
      values (${event.id}, ${personId}, ${event.event_type}, ${event.actor_id}, ${event.address}, ${event.user_agent}, ${event.detail})
      returning id`,
  );

/** Lists what happened to a person's account, the newest first. Uses index account_event_person. */
export const listAccountEvents = (db: Db, personId: PersonId, before: Uuid | null, limit: number): Promise<AccountEventRow[]> =>
  rows(
    db,
    sql`
      select id, event_type, actor_id, address, user_agent, detail, occurred_at from account_event
      where person_id = ${personId} and (${before}::uuid is null or id < ${before})
      order by id desc limit ${limit}`,
  );

/** Removes events that are older than a year. Uses index account_event_age. */
export const sweepAccountEvents = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`
      delete from account_event where ctid = any(array(
        select ctid from account_event where occurred_at <= moment() - interval '366 days' order by occurred_at limit 10000))`,
  );
