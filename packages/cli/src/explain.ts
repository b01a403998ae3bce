import { explainJob, readJobId } from "@tidemill/server";
import { findLane } from "./find-lane.ts";
import { printJson, printTable } from "./table.ts";
import { withDatabase } from "./with-database.ts";
import { parseWorkspaceId } from "./workspace.ts";

/** `tidemill explain`: says why a job is not running, gate by gate, and when it should start. */
export async function explainCommand(workspace: string, queue: string, job: string, { json }: { readonly json?: boolean }): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  const id = readJobId(job);
  if (!id) throw new Error(`"${job}" is not the id of a job.`);
  await withDatabase(async (databases) => {
    const lane = await findLane(databases, workspaceId, queue);
    const explained = await explainJob(databases.api, { workspaceId, laneId: lane.id, id }, queue);
    if (json) return printJson(explained);
    const { state, summary, ahead, ahead_is_more, gates, estimated_start } = explained;
    process.stdout.write(`${summary}\n\n`);
    const aheadText = ahead_is_more ? `more than ${ahead}` : (ahead ?? "");
    printTable([{ state, ahead: aheadText, estimated_start: estimated_start ?? (ahead === null ? "" : "unknown") }]);
    process.stdout.write("\n");
    printTable(gates.map(({ gate, holds, message }) => ({ gate, holds: holds ? "yes" : "", message })));
  });
}
