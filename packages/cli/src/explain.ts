import { explainJob, findQueue, readJobId } from "@tidemill/server";
import { unlessAbsent } from "./fail.ts";
import { printJson, printTable } from "./table.ts";
import { withDatabase } from "./with-database.ts";
import { idOf } from "./workspace.ts";

/** `tidemill explain`: why a job is not running, gate by gate, and when it will. */
export async function explainCommand(workspace: string, queue: string, job: string, { json }: { readonly json?: boolean }): Promise<void> {
  const workspaceId = idOf(workspace);
  const id = readJobId(job);
  if (!id) throw new Error(`"${job}" is not the id of a job.`);
  await withDatabase(async ({ api }) => {
    const lane = await findQueue(api, workspaceId, queue);
    if (!lane) throw new Error(`There is no queue ${queue} in the workspace ${workspace}.`);
    const key = { workspaceId, laneId: lane.id, id };
    const explained = await unlessAbsent(explainJob(api, key, queue), `There is no job ${job} in the queue ${queue}.`);
    if (json) return printJson(explained);
    const { state, summary, ahead, ahead_is_more, gates, estimated_start } = explained;
    process.stdout.write(`${summary}\n\n`);
    const told = ahead_is_more ? `more than ${ahead}` : (ahead ?? "");
    printTable([{ state, ahead: told, estimated_start: estimated_start ?? (ahead === null ? "" : "unknown") }]);
    process.stdout.write("\n");
    printTable(gates.map(({ gate, holds, message }) => ({ gate, holds: holds ? "yes" : "", message })));
  });
}
