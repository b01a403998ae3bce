import { type Static, Type } from "typebox";
import { Nullable, PageQuery, Timestamp } from "./paging.ts";

/** What a key may do: each role includes the ones after it. Source: contract §2. */
export const ROLES = ["admin", "write", "read"] as const;
export type Role = (typeof ROLES)[number];

export const KeyId = Type.String({
  pattern: "^key_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Id of a key; it is not what requests carry.",
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

const RoleField = Type.Enum([...ROLES], { description: "What the key may do; each role may do what those after it may." });

export const CreateKey = Type.Object(
  {
    name: Name,
    role: Type.Optional(RoleField),
    expires_at: Type.Optional(
      Nullable(Type.String({ format: "date-time", description: "From then on the key is refused; null or left out: never." })),
    ),
  },
  { additionalProperties: false, examples: [{ name: "Deploys", role: "write", expires_at: "2030-01-31T12:00:00Z" }] },
);
export type CreateKey = Static<typeof CreateKey>;

const fields = {
  id: Type.String(),
  name: Type.String(),
  role: RoleField,
  expires_at: Nullable(Timestamp),
  created_at: Timestamp,
};

const example = {
  id: "key_01kajv3k4ve6nsd9z5kgtzx0rw",
  name: "Deploys",
  role: "write",
  expires_at: "2030-01-31T12:00:00.000Z",
  created_at: "2026-11-21T09:30:00.000Z",
};

/** A key as lists show it: without its text, which nobody has any more. */
export const Key = Type.Object(
  {
    ...fields,
    last_used_at: Type.Union([Timestamp, Type.Null()], { description: "When a request last carried it; up to a minute old." }),
  },
  { examples: [{ ...example, last_used_at: "2026-11-21T09:41:07.112Z" }] },
);
export type Key = Static<typeof Key>;

export const CreatedKey = Type.Object(
  { ...fields, key: Type.String({ description: "The key itself, shown in this reply alone." }) },
  { examples: [{ ...example, key: "svc_ws_abcdefghijklmnopqrstuvwxyz0123454WTnwY" }] },
);
export type CreatedKey = Static<typeof CreatedKey>;

export const ListKeys = Type.Object(
  { ...PageQuery, cursor: Type.Optional(Type.String({ ...PageQuery.cursor, examples: ["key_01kajv3k4ve6nsd9z5kgtzx0rw"] })) },
  { additionalProperties: false },
);
export const KeyPath = Type.Object({ id: KeyId });
