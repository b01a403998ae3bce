import { type Static, Type } from "typebox";
import { KeyId } from "./keys.ts";
import { Nullable, PageQuery, Timestamp } from "./paging.ts";
import { PlanName } from "./plans.ts";

const Name = Type.String({ format: "shown-name", pattern: "\\S", minLength: 1, maxLength: 128 });

const Limits = Type.Object({
  executions_per_month: Nullable(Type.Integer()),
  requests_per_minute: Nullable(Type.Integer()),
  retention_days: Nullable(Type.Integer()),
});

/** Limits that replace those of the plan. A limit that is left out stays as it is or, with a new plan, is the plan's. */
const OwnLimits = Type.Object(
  {
    executions_per_month: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))),
    requests_per_minute: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
    retention_days: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 36_500 }))),
  },
  { additionalProperties: false },
);
export type OwnLimits = Static<typeof OwnLimits>;

const terms = { plan: Type.Optional(PlanName), limits: Type.Optional(OwnLimits) };

export const CreateWorkspace = Type.Object({ name: Name, ...terms }, { additionalProperties: false });
export type CreateWorkspace = Static<typeof CreateWorkspace>;

/** A new plan sets all limits to its own, except those in `limits`. Without a plan, `limits` changes only the limits that it contains. */
export const PatchWorkspace = Type.Object({ name: Type.Optional(Name), ...terms }, { additionalProperties: false, minProperties: 1 });
export type PatchWorkspace = Static<typeof PatchWorkspace>;

const fields = { id: Type.String(), name: Type.String(), plan: PlanName, limits: Limits, created_at: Timestamp };

export const Workspace = Type.Object({ ...fields, updated_at: Timestamp });
export type Workspace = Static<typeof Workspace>;

export const CreatedWorkspace = Type.Object({ ...fields, key: Type.String() });
export type CreatedWorkspace = Static<typeof CreatedWorkspace>;

export const ListWorkspaces = Type.Object(PageQuery, { additionalProperties: false });
const WorkspaceId = Type.String({ pattern: "^ws_[0-7][0-9a-hjkmnp-tv-z]{25}$" });
export const WorkspacePath = Type.Object({ id: WorkspaceId });
export const WorkspaceKeyPath = Type.Object({ id: WorkspaceId, key_id: KeyId });
