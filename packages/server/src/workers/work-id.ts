import { type Claim, readJobId, showJobId } from "#jobs";
import { type IdPrefix, type JobId, typeId, uuidOf } from "#kernel";

/**
 * The prefixes of the ids of jobs that are not queues' jobs, by kind. The execution of a run, and its undo, are jobs with the id of the
 * run.
 */
const PREFIXES: Readonly<Partial<Record<string, IdPrefix>>> = { run: "run", undo: "run", hook: "hook" };

/** The job that an id of the API names. Null if the text is not an id. */
export const readWorkId = (id: string): JobId | null =>
  readJobId(id) ??
  (Object.values(PREFIXES).reduce((found: string | null, prefix) => found ?? uuidOf(prefix as IdPrefix, id), null) as JobId | null);

/** The id of a claimed job, run or hook, as the API shows it. */
export function showWorkId({ kind, id }: Pick<Claim, "kind" | "id">): string {
  const prefix = PREFIXES[kind];
  return prefix ? typeId(prefix, id) : showJobId(id);
}
