import { type Static, Type } from "typebox";
import { LIMITS } from "./limits.ts";
import { QueueName } from "./names.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";
import { SECRET_NAME } from "./templates.ts";

export const SecretName = Type.String({
  title: "SecretName",
  pattern: SECRET_NAME,
  description: "Name of a secret, unique in the workspace.",
  examples: ["STRIPE_KEY"],
});

/** It has no `maxLength`, which counts characters: the service checks the value's bytes against `LIMITS.secretBytes`. */
const Value = Type.String({
  format: "storable",
  minLength: 1,
  description: `The secret itself, at most ${LIMITS.secretBytes} bytes of UTF-8. No response ever contains it.`,
  examples: ["sk_live_4eC39HqLyjWDarjtT1zdp7dc"],
});

const restrictions = {
  allowed_queues: Type.Optional(
    Nullable(
      Type.Array(QueueName, {
        maxItems: 1_000,
        uniqueItems: true,
        examples: [["emails"]],
      }),
      { description: "Queues whose jobs and settings may use the secret; null: all, and all workflows." },
    ),
  ),
  allowed_hosts: Type.Optional(
    Nullable(
      Type.Array(Type.String({ format: "host", maxLength: 253 }), {
        maxItems: 1_000,
        uniqueItems: true,
        examples: [["api.example.com"]],
      }),
      { description: "Hosts that the secret may be sent to; null: all." },
    ),
  ),
};

export const CreateSecret = Type.Object(
  { name: SecretName, value: Value, ...restrictions },
  {
    title: "CreateSecret",
    description: "A secret to store.",
    additionalProperties: false,
    examples: [{ name: "STRIPE_KEY", value: "sk_live_4eC39HqLyjWDarjtT1zdp7dc" }],
  },
);
export type CreateSecret = Static<typeof CreateSecret>;

export const PatchSecret = Type.Object(
  { value: Type.Optional(Value), ...restrictions },
  {
    title: "PatchSecret",
    description: "Changes to a secret. Fields that are left out stay as they are.",
    additionalProperties: false,
    minProperties: 1,
    examples: [{ value: "sk_live_Yk2pQ7vB0nWcT9rLx5Zd8sHm" }],
  },
);
export type PatchSecret = Static<typeof PatchSecret>;

/** A secret without its value. Source: specification, Secret; contract §9. */
export const Secret = Type.Object(
  {
    name: SecretName,
    value_hint: Type.String({ description: "The first characters of the value, at most 4 and at most a quarter of it, then `...`." }),
    allowed_queues: Nullable(Type.Array(Type.String()), {
      description: "Queues whose jobs and settings may use the secret; null: all, and all workflows.",
    }),
    allowed_hosts: Nullable(Type.Array(Type.String()), { description: "Hosts that the secret may be sent to; null: all." }),
    created_at: Moment("When the secret was first stored."),
    updated_at: Moment("When its value or its restrictions last changed."),
  },
  {
    title: "Secret",
    description: "A secret, without its value.",
    examples: [
      {
        name: "STRIPE_KEY",
        value_hint: "sk_l...",
        allowed_queues: null,
        allowed_hosts: ["api.example.com"],
        created_at: "2026-11-21T09:30:00.000Z",
        updated_at: "2026-11-21T09:30:00.000Z",
      },
    ],
  },
);
export type Secret = Static<typeof Secret>;

export const ListSecrets = Type.Object(
  { ...PageQuery, cursor: Cursor("SecretCursor", "sec_01kajv3k4ve6nsd9z5kgtzx0rw") },
  { additionalProperties: false },
);
export type ListSecrets = Static<typeof ListSecrets>;
export const SecretPath = Type.Object({ name: SecretName });
