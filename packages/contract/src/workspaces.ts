import { type Static, Type } from "typebox";
import { Nullable, Timestamp } from "./paging.ts";
import { PLAN_NAMES } from "./plans.ts";

/** What a key may do: each role includes the ones after it. Source: contract §2. */
export const ROLES = ["admin", "write", "read"] as const;
export type Role = (typeof ROLES)[number];

const Name = Type.String({ format: "storable", minLength: 1, maxLength: 128 });

const Limits = Type.Object({
  executions_per_month: Nullable(Type.Integer()),
  requests_per_minute: Nullable(Type.Integer()),
  retention_days: Nullable(Type.Integer()),
});

export const CreateWorkspace = Type.Object(
  { name: Name, plan: Type.Optional(Type.Enum([...PLAN_NAMES])) },
  { additionalProperties: false },
);
export type CreateWorkspace = Static<typeof CreateWorkspace>;

export const CreatedWorkspace = Type.Object({
  id: Type.String(),
  name: Type.String(),
  plan: Type.Enum([...PLAN_NAMES]),
  limits: Limits,
  created_at: Timestamp,
  key: Type.String(),
});
export type CreatedWorkspace = Static<typeof CreatedWorkspace>;

export const CreateKey = Type.Object(
  {
    name: Name,
    role: Type.Optional(Type.Enum([...ROLES])),
    expires_at: Type.Optional(Nullable(Type.String({ format: "date-time" }))),
  },
  { additionalProperties: false },
);
export type CreateKey = Static<typeof CreateKey>;

export const CreatedKey = Type.Object({
  id: Type.String(),
  name: Type.String(),
  role: Type.Enum([...ROLES]),
  key: Type.String(),
  expires_at: Nullable(Timestamp),
  created_at: Timestamp,
});
export type CreatedKey = Static<typeof CreatedKey>;

export const WorkspacePath = Type.Object({ id: Type.String({ pattern: "^ws_[0-7][0-9a-hjkmnp-tv-z]{25}$" }) });
