import { readWorkspaceId } from "@tidemill/server";
import type { Service } from "./service.ts";

/** The stored audit events of a workspace about the given resource types, oldest first. */
export async function audited(
  { database }: Service,
  workspace: string,
  ...resourceTypes: string[]
): Promise<{ type: string; actor: string; resource: string; input: unknown; output: unknown }[]> {
  const found = await database.query<{ type: string; actor: string; resource: string; input: string | null; output: string | null }>(
    `select event_type as type, actor_id as actor, resource_id as resource, input, output from audit_event
     where workspace_id = $1 and resource_type = any($2) order by seq`,
    [readWorkspaceId(workspace), resourceTypes],
  );
  return found.map(({ input, output, ...event }) => ({ ...event, input: read(input), output: read(output) }));
}

const read = (json: string | null): unknown => (json === null ? null : JSON.parse(json));

/** Runs `work` while every write of an audit event fails. */
export async function withoutAudit(service: Service, work: () => Promise<void>): Promise<void> {
  await service.database.query("alter table audit_event add constraint refused check (false) not valid");
  try {
    await work();
  } finally {
    await service.database.query("alter table audit_event drop constraint refused");
  }
}
