import type { Service } from "../../../server/test/harness/service.ts";
import type { PageNames } from "../harness/every-page.ts";
import { seedJobs } from "./seed-jobs.ts";
import { seedRuns } from "./seed-runs.ts";
import { seedSettings, seedWebhook } from "./seed-settings.ts";

/** What pages are about, for `everyPage`, and more runs. */
export interface SeededNames extends PageNames {
  readonly finishedRun: string;
  readonly waitingRun: string;
  readonly failedRun: string;
}

/** Fills a workspace with what a shop might have at noon: work that goes well, work that fails, and work that waits for people. */
export async function seedWorkspace(service: Service): Promise<SeededNames> {
  const jobs = await seedJobs(service);
  await seedSettings(service);
  const runs = await seedRuns(service);
  const webhook = "ops-channel";
  const delivery = await seedWebhook(service, webhook);
  return {
    ...jobs,
    ...runs,
    run: runs.waitingRun,
    schedule: "daily-digest",
    secret: "CRM_TOKEN",
    webhook,
    delivery,
    token: "x".repeat(43),
  };
}
