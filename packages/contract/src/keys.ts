import { type Static, Type } from "typebox";
import { QueueName } from "./names.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";
import { WorkflowId } from "./workflow-ids.ts";

/** What a key may do. Source: contract §2. */
export const ROLES = ["admin", "write", "read", "worker"] as const;
export type Role = (typeof ROLES)[number];

/** Roles that each role includes. A role that may enqueue may not take jobs: with templates in payloads, it could read secrets. */
export const INCLUDED_ROLES: Readonly<Record<Role, readonly Role[]>> = {
  admin: ["admin", "write", "read", "worker"],
  write: ["write", "read"],
  read: ["read"],
  worker: ["worker"],
};

export const KeyId = Type.String({
  title: "KeyId",
  pattern: "^key_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Id of a key. It names the key and cannot be used to authenticate.",
  examples: ["key_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

const Name = Type.String({
  format: "storable",
  pattern: "\\S",
  minLength: 1,
  maxLength: 128,
  description: "What the key is for.",
  examples: ["Deploys"],
});

const RoleField = Type.Enum([...ROLES], {
  title: "Role",
  description:
    "What the key may do. `admin` includes all others, `write` includes `read`. `worker` takes and settles jobs and runs and registers workflows, and nothing else.",
});

export const CreateKey = Type.Object(
  {
    name: Name,
    role: Type.Optional(RoleField),
    queues: Type.Optional(
      Nullable(Type.Array(QueueName, { minItems: 1, maxItems: 100, uniqueItems: true }), {
        description:
          "With role `worker`: the only queues whose jobs the key may take. Null or left out: all, or none if `workflows` are given.",
      }),
    ),
    workflows: Type.Optional(
      Nullable(Type.Array(WorkflowId, { minItems: 1, maxItems: 100, uniqueItems: true }), {
        description:
          "With role `worker`: the only workflows that the key may register and execute. Null or left out: all, or none if `queues` are given.",
      }),
    ),
    expires_at: Type.Optional(
      Nullable(Moment("RFC 3339."), { description: "When the key expires: from then on it is refused. Null or left out: never." }),
    ),
  },
  {
    title: "CreateKey",
    description: "A key to create. Default role: `write`.",
    additionalProperties: false,
    examples: [{ name: "Deploys", role: "write", expires_at: "2030-01-31T12:00:00Z" }],
  },
);
export type CreateKey = Static<typeof CreateKey>;

const fields = {
  id: KeyId,
  name: Type.String({ description: "What the key is for." }),
  role: RoleField,
  queues: Nullable(Type.Array(QueueName), {
    description: "The queues whose jobs a key of role `worker` may take; null: all, or none if it has `workflows`.",
  }),
  workflows: Nullable(Type.Array(WorkflowId), {
    description: "The workflows that a key of role `worker` may register and execute; null: all, or none if it has `queues`.",
  }),
  expires_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the key expires; null: never." }),
  created_at: Moment("When the key was created."),
};

const example = {
  id: "key_01kajv3k4ve6nsd9z5kgtzx0rw",
  name: "Deploys",
  role: "write",
  queues: null,
  workflows: null,
  expires_at: "2030-01-31T12:00:00.000Z",
  created_at: "2026-11-21T09:30:00.000Z",
};

/** A key as lists show it: without its text, which is not stored. */
export const Key = Type.Object(
  {
    ...fields,
    last_used_at: Nullable(Moment("RFC 3339 in UTC."), {
      description: "When a request last used the key, accurate to about a minute; null before the first.",
    }),
  },
  {
    title: "Key",
    description: "A workspace key, without its text, which is not stored.",
    examples: [{ ...example, last_used_at: "2026-11-21T09:41:07.112Z" }],
  },
);
export type Key = Static<typeof Key>;

export const CreatedKey = Type.Object(
  { ...fields, key: Type.String({ description: "The key's text. Only this response contains it." }) },
  {
    title: "CreatedKey",
    description: "A new key, with its text.",
    examples: [{ ...example, key: "svc_ws_abcdefghijklmnopqrstuvwxyz0123454WTnwY" }],
  },
);
export type CreatedKey = Static<typeof CreatedKey>;

export const ListKeys = Type.Object(
  { ...PageQuery, cursor: Cursor("KeyCursor", "key_01kajv3k4ve6nsd9z5kgtzx0rw") },
  { additionalProperties: false },
);
export type ListKeys = Static<typeof ListKeys>;
export const KeyPath = Type.Object({ id: KeyId });
