import { type RunJournal, type Tidemill, TidemillError } from "@tidemill/sdk";
import type { LoadedWorkflows } from "./load-workflows.ts";

/** A run in flight whose journal does not fit the code. */
interface UnfitRun {
  readonly run: string;
  readonly workflow: string;
  /** Version of the code that started it. */
  readonly version: string | null;
  readonly step: string;
  readonly reason: string;
}

export interface Checked {
  /** How many runs were replayed. */
  readonly runs: number;
  readonly unfit: readonly UnfitRun[];
}

/** Journals in a page. */
const PAGE = 50;

/** Replays the journals of all runs in flight with local code. */
export async function checkWorkflows(tidemill: Tidemill, { workflows, replayJournal }: LoadedWorkflows): Promise<Checked> {
  const unfit: UnfitRun[] = [];
  let runs = 0;
  for (const workflow of workflows) {
    for await (const page of journalsOf(tidemill, workflow.id)) {
      runs += page.length;
      const checked = await Promise.all(page.map(async (run) => ({ run, check: await replayJournal(workflow, run) })));
      for (const { run, check } of checked) {
        if (!check.fits)
          unfit.push({ run: run.runId, workflow: workflow.id, version: run.version, step: check.step, reason: check.reason });
      }
    }
  }
  return { runs, unfit };
}

/** A workflow that the service does not know has no runs. */
async function* journalsOf(tidemill: Tidemill, id: string): AsyncGenerator<RunJournal[]> {
  try {
    for await (const { data } of tidemill.workflows.journals(id, { limit: PAGE }).pages()) yield data;
  } catch (error) {
    if (!(error instanceof TidemillError && error.code === "NOT_FOUND")) throw error;
  }
}
