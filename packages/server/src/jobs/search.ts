import type { JobFilter, JobState } from "@tidemill/contract";
import { type Db, type JobId, MAX_SCANNED_ROWS, momentMs, type Timestamp, toMoment, type WorkspaceId } from "#kernel";
import { readJobId } from "./job.ts";
import { NEWEST } from "./list.ts";
import {
  ACTIVE_SCAN,
  countMatches,
  type FoundJob,
  findQueues,
  type JobConditions,
  NO_ACTIVE_SCAN,
  SCANS,
  type SearchPart,
  type SearchSource,
  searchJobs,
  searchKeys,
  someQueues,
} from "./store/search.ts";

/** A search for jobs of all queues of a workspace. */
export interface JobSearch {
  readonly conditions: JobConditions;
  readonly source: SearchSource;
  /** The range of ids: from `since` up to, but not including, `before`. */
  readonly since: JobId;
  readonly before: JobId;
}

/** The maximum size of payloads that a page reads to look for a text in them. Bytes. */
const MAX_SEARCHED_BYTES = 32 * 1024 * 1024;
/** The maximum number of rows that a count reads, and that each of its statements reads. */
const MAX_COUNTED_ROWS = 50_000;
const COUNTED_AT_ONCE = 10_000;
/** A filter by tags, without queues, looks up the tag in each queue if the workspace has at most this many. */
const MAX_TAGGED_QUEUES = 100;
/** A filter by more queues, or by more tags in queues, reads the newest jobs instead of looking for each queue or tag. */
const MAX_SCANS = 200;
/** How far the time in an id may be from `created_at`: the clock of a node, and the wait before the write. Milliseconds. */
const ID_SLACK_MS = 600_000;

const OLDEST = "00000000-0000-0000-0000-000000000000" as JobId;
const HISTORY: readonly JobState[] = ["completed", "cancelled", "rejected"];
const PARKED: readonly JobState[] = ["delayed", "pending_approval", "failed"];

/** The smallest id of a millisecond. */
const idAt = (ms: number): JobId => {
  const hex = Math.min(Math.max(0, Math.floor(ms)), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000` as JobId;
};

/** The time in an id. */
export const momentOfId = (id: JobId): Timestamp => toMoment(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));

const listOf = (text: string | undefined): string[] | null => (text === undefined ? null : [...new Set(text.split(","))]);

/**
 * Prepares a search: finds out which indexes serve the filter. Null: no job can match, because none of the filter's queues exists.
 *
 * @param states a further filter by state: jobs in other states do not match. Null: all
 * @param until jobs that were enqueued or finished later do not match
 */
export async function prepareSearch(
  db: Db,
  workspaceId: WorkspaceId,
  filter: JobFilter,
  { states: only = null, until = null }: { states?: readonly JobState[] | null; until?: Timestamp | null } = {},
): Promise<JobSearch | null> {
  const queues = listOf(filter.queue);
  const laneIds = queues && (await findQueues(db, workspaceId, queues)).map(({ id }) => id);
  if (laneIds?.length === 0) return null;
  const asked = listOf(filter.state) as JobState[] | null;
  const states = only ? only.filter((state) => asked?.includes(state) ?? true) : asked;
  const ids = listOf(filter.id)?.flatMap((id) => readJobId(id) ?? []) ?? null;
  const conditions: JobConditions = {
    workspaceId,
    states,
    laneIds,
    tags: listOf(filter.tag),
    keys: listOf(filter.concurrency_key),
    errors: listOf(filter.error_code),
    fingerprint: filter.fingerprint ?? null,
    ids,
    createdAfter: filter.created_after ?? null,
    createdBefore: filter.created_before ?? null,
    contains: filter.payload_contains ?? null,
    until,
  };
  return {
    conditions,
    source: await sourceOf(db, conditions),
    since: filter.created_after === undefined ? OLDEST : idAt(momentMs(filter.created_after) - ID_SLACK_MS),
    before: filter.created_before === undefined ? NEWEST : idAt(momentMs(filter.created_before) + ID_SLACK_MS),
  };
}

/** The indexes that leave the fewest rows to read. */
async function sourceOf(db: Db, { workspaceId, states, laneIds, tags, ids, fingerprint }: JobConditions): Promise<SearchSource> {
  const within = (some: readonly JobState[]) => states?.every((state) => some.includes(state)) ?? false;
  const without = (some: readonly JobState[]) => !(states?.some((state) => some.includes(state)) ?? true);
  const nothing = { laneId: null, tag: null, id: null };
  const finishedBy = <Scan>(scan: Scan): Scan | typeof SCANS.none.finished => (without(HISTORY) ? SCANS.none.finished : scan);
  const activeBy = () => (without(["active"]) ? NO_ACTIVE_SCAN : ACTIVE_SCAN);
  if (ids) {
    const wanted = ids.map((id) => ({ ...nothing, id }));
    return { live: SCANS.one.live, active: activeBy(), finished: finishedBy(SCANS.one.finished), wanted };
  }
  if (fingerprint !== null)
    return { live: SCANS.fingerprint.live, active: NO_ACTIVE_SCAN, finished: SCANS.none.finished, wanted: [nothing] };
  if (within(["active"])) return { live: SCANS.none.live, active: ACTIVE_SCAN, finished: SCANS.none.finished, wanted: [nothing] };
  const lanes = laneIds ?? (tags && (await fewQueues(db, workspaceId)));
  if (lanes && lanes.length * (tags?.length ?? 1) <= MAX_SCANS) {
    const repeated = tags
      ? lanes.flatMap((laneId) => tags.map((tag) => ({ ...nothing, laneId, tag })))
      : lanes.map((laneId) => ({ ...nothing, laneId }));
    const { live, finished } = tags ? SCANS.tag : SCANS.lane;
    return {
      live: within(HISTORY) ? SCANS.none.live : within(PARKED) && !tags ? SCANS.parked.live : live,
      active: NO_ACTIVE_SCAN,
      finished: finishedBy(finished),
      wanted: repeated,
    };
  }
  const live = within(["failed"])
    ? SCANS.failed
    : within(["pending_approval"])
      ? SCANS.pending
      : within(HISTORY)
        ? SCANS.none
        : SCANS.newest;
  return { live: live.live, active: activeBy(), finished: finishedBy(SCANS.newest.finished), wanted: [nothing] };
}

/** All queues of the workspace, unless they are many. */
async function fewQueues(db: Db, workspaceId: WorkspaceId): Promise<FoundLanes | null> {
  const some = await someQueues(db, workspaceId, MAX_TAGGED_QUEUES + 1);
  return some.length > MAX_TAGGED_QUEUES ? null : some.map(({ id }) => id);
}
type FoundLanes = NonNullable<JobConditions["laneIds"]>;

const partOf = ({ since, before, source }: JobSearch, from: JobId | null, limit: number, maxScanned: number): SearchPart => ({
  since,
  before: from !== null && from < before ? from : before,
  limit,
  scanned: Math.max(1, Math.floor(maxScanned / (2 * Math.max(1, source.wanted.length)))),
  maxBytes: MAX_SEARCHED_BYTES / 2,
});

/** The newest matches below `from`. */
export const findJobs = (
  db: Db,
  search: JobSearch,
  from: JobId | null,
  limit: number,
  maxScanned = MAX_SCANNED_ROWS,
): Promise<FoundJob[]> => searchJobs(db, search.source, search.conditions, partOf(search, from, limit, maxScanned));

/** Like `findJobs`, without the jobs' records. */
export const findJobKeys = (db: Db, search: JobSearch, from: JobId | null, limit: number, maxScanned = MAX_SCANNED_ROWS) =>
  searchKeys(db, search.source, search.conditions, partOf(search, from, limit, maxScanned));

/** How many jobs match. A limited number of rows is read: `exact` says whether all were. */
export async function countJobs(db: Db, search: JobSearch | null): Promise<{ count: number; exact: boolean }> {
  let count = 0;
  if (search === null) return { count, exact: true };
  let from: JobId | null = null;
  for (let read = 0; read < MAX_COUNTED_ROWS; read += COUNTED_AT_ONCE) {
    const { jobs, reached } = await countMatches(
      db,
      search.source,
      search.conditions,
      partOf(search, from, COUNTED_AT_ONCE, COUNTED_AT_ONCE),
    );
    count += jobs;
    if (reached === null) return { count, exact: true };
    from = reached;
  }
  return { count, exact: false };
}
