import { explainJob, readJobId } from "@tidemill/server";
import { printExplanation } from "../output/explanation.ts";
import { findLane } from "./find-lane.ts";
import { withDatabase } from "./with-database.ts";
import { parseWorkspaceId } from "./workspace.ts";

/** `tidemill explain`: says why a job is not running, gate by gate, and when it should start. */
export async function explainCommand(workspace: string, queue: string, job: string, { json }: { readonly json?: boolean }): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  const id = readJobId(job);
  if (!id) throw new Error(`"${job}" is not the id of a job.`);
  await withDatabase(async (databases) => {
    const lane = await findLane(databases, workspaceId, queue);
    printExplanation(await explainJob(databases.api, { workspaceId, laneId: lane.id, id }, queue), json, workspace);
  });
}
