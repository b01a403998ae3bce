import { ApproveJob, RejectJob } from "@tidemill/contract";
import {
  decideJob,
  findWorkspace,
  type JobId,
  type JobRow,
  listPending,
  OPERATOR,
  type Ruling,
  readJobId,
  showJob,
  workspaceNotFound,
} from "@tidemill/server";
import { Value } from "typebox/value";
import { type ListOptions, printPages } from "../output/print-pages.ts";
import { printJson, printTable } from "../output/table.ts";
import { parseExactly } from "../parse-exactly.ts";
import { findLane } from "./find-lane.ts";
import { notifyNodes } from "./notify-nodes.ts";
import { readScans } from "./read-pages.ts";
import { withDatabase } from "./with-database.ts";
import { parseWorkspaceId } from "./workspace.ts";

interface ApprovalsOptions extends ListOptions {
  readonly queue?: string;
  readonly tag?: string;
}

interface DecideOptions {
  readonly by?: string;
  readonly json?: boolean;
}

const COLUMNS = ["id", "queue", "tag", "priority", "run_at", "created_at"];

/** `tidemill approval list`: lists a workspace's jobs that wait for a decision, newest first. */
export async function listApprovalsCommand(workspace: string, { queue, tag, ...options }: ApprovalsOptions): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  await withDatabase(async ({ api }) => {
    if (!(await findWorkspace(api, workspaceId))) throw workspaceNotFound(workspaceId);
    const filters = { queues: queue?.split(",") ?? null, tags: tag?.split(",") ?? null };
    const read = (before: JobId | null, limit: number) => listPending(api, { workspaceId, ...filters, before, limit });
    await printPages((limit) => readScans(read, limit, (job) => recordOf(job, job.queue)), COLUMNS, options);
  });
}

/** `tidemill approval approve`: lets a job start, as the operator. */
export async function approveCommand(
  workspace: string,
  queue: string,
  job: string,
  { by, comment, json }: DecideOptions & { readonly comment?: string },
): Promise<void> {
  const words = { ...(by !== undefined && { by }), ...(comment !== undefined && { comment }) };
  if (!Value.Check(ApproveJob, words)) throw new Error(`An approval has ${WORDS}.`);
  await decide(workspace, queue, job, { decision: "approved", by: by ?? null, comment: comment ?? null }, json);
}

/** `tidemill approval reject`: ends a job that has not started, as the operator. */
export async function rejectCommand(
  workspace: string,
  queue: string,
  job: string,
  { by, reason, json }: DecideOptions & { readonly reason?: string },
): Promise<void> {
  const words = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  if (!Value.Check(RejectJob, words)) throw new Error(`A rejection has ${WORDS}.`);
  await decide(workspace, queue, job, { decision: "rejected", by: by ?? null, comment: reason ?? null }, json);
}

const WORDS = "a --by of 1 to 256 characters, and a comment or reason of at most 4096";

async function decide(workspace: string, queue: string, job: string, ruling: Ruling, json: boolean | undefined): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  const id = readJobId(job);
  if (!id) throw new Error(`"${job}" is not the id of a job.`);
  await withDatabase(async (databases, { audit }) => {
    const lane = await findLane(databases, workspaceId, queue);
    const key = { workspaceId, laneId: lane.id, id };
    const decided = await decideJob(databases.api, { audit, actorId: OPERATOR, queue }, key, ruling).catch(explainState);
    if (decided.state === "waiting") await notifyNodes(databases, { kind: "laneWoken", lane: key });
    if (json) printJson(recordOf(decided, queue));
    else printTable([{ id: job, queue, state: decided.state, run_at: decided.run_at, by: ruling.by }]);
  });
}

/** Says what INVALID_STATE means here. */
function explainState(error: unknown): never {
  const { code, details } = error as { code?: string; details?: { state?: string } };
  throw code === "INVALID_STATE" ? new Error(`The job does not wait for a decision: its state is ${details?.state}.`) : error;
}

/** The job as the API shows it. */
const recordOf = (job: JobRow, queue: string): object => parseExactly(showJob(job, queue).join("")) as object;
