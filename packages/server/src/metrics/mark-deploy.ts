import type { NewDeploy } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import { type Transactional, typeId, type UuidSource } from "#kernel";
import { type DeployRow, insertDeploy } from "./store.ts";

/** Records that the tenant has deployed something now. */
export const markDeploy = (
  db: Transactional,
  { audit, ids }: { readonly audit: AuditLog; readonly ids: UuidSource },
  { workspaceId, actorId }: Actor,
  { name, version }: NewDeploy,
): Promise<DeployRow> =>
  db.transaction(async (tx) => {
    const deploy = await insertDeploy(tx, { workspaceId, id: ids.next(), name, version, actorId });
    if (!deploy) throw new Error("The insert of a deploy returned no row.");
    await audit.record(tx, {
      workspaceId,
      actorId,
      eventType: "deploy.marked",
      resourceType: "deploy",
      resourceId: typeId("dep", deploy.id),
      input: { name, version },
      output: null,
    });
    return deploy;
  });
