import type { Db } from "#kernel";

/** Recognises the engine's statements by their text and their command tag. */
type Done = { readonly text: string; readonly tag: string };

/** A claim that returned this many jobs. */
export const isClaim =
  (jobs: number) =>
  ({ text, tag }: Done): boolean =>
    /update job\s[^;]*set state = 'active'/.test(text) && tag.endsWith(` ${jobs}`);

export const isEnqueue = ({ text }: Done): boolean => /insert into job\s*\(/.test(text);

/** A settle of jobs that completed. */
export const isSettle = ({ text }: Done): boolean => /delete from job\b/.test(text) && /insert into job_history/.test(text);

/** A settle of runs that completed, by one statement. */
export const isCompletionOfRuns = ({ text }: Done): boolean => /update run r set status = 'completed'/.test(text);

/** A statement of a transaction that settles a run: its job is deleted, or released. */
export const isSettleOfRun = ({ text }: Done): boolean => /delete from job j\s+using unnest|update job j set state = s\.state/.test(text);

/** A statement that stores steps of runs. */
export const isStepReport = ({ text }: Done): boolean => /insert into run_step/.test(text);

/** The renewal of a node's lease. */
export const isRenewal = ({ text }: Done): boolean => /update lease set expires_at = now\(\) \+/.test(text);

/** A database that keeps the values of the statements which are sent by it. */
export function keepingValues(db: Db): { readonly db: Db; readonly sent: unknown[] } {
  const sent: unknown[] = [];
  const query: Db["query"] = (statement) => {
    sent.push(...statement.values);
    return db.query(statement);
  };
  return { db: { query }, sent };
}
