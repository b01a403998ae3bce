import type { Limits, Plan } from "@tidemill/contract";
import { newWorkspace, Service } from "./service.ts";

/** Creates another workspace on the service's node, with this plan and these limits. A limit that is not given is none. */
export async function limitedTo(service: Service, limits: Partial<Limits>, plan: Plan = "team"): Promise<Service> {
  const { node, database, clock } = service;
  const limited = new Service(node, database, clock, await newWorkspace(database, plan));
  await setLimits(limited, limits);
  return limited;
}

/** Sets the limits of a workspace, and removes all others. Nodes cache a key's workspace for less than a second. */
export async function setLimits({ database, key }: Service, limits: Partial<Limits>): Promise<void> {
  await database.query(
    `update workspace set executions_per_month = $2, requests_per_minute = $3, retention_days = $4, limits_changed_at = moment()
     where id = (select workspace_id from api_key where hash = sha256($1::text::bytea))`,
    [key, limits.executions_per_month ?? null, limits.requests_per_minute ?? null, limits.retention_days ?? null],
  );
}
