import { type Static, Type } from "typebox";
import { Moment, Nullable } from "./paging.ts";
import { PlanName } from "./plans.ts";

/** What a person may do in a workspace: the roles of keys, but for that of workers. Source: contract §13. */
export const PERSON_ROLES = ["admin", "write", "read"] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];

export const PersonRoleField = Type.Enum([...PERSON_ROLES], {
  title: "PersonRole",
  description: "What a person may do in the workspace. `admin` includes all others, `write` includes `read`.",
});

export const PersonId = Type.String({
  title: "PersonId",
  pattern: "^usr_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Id of a person.",
  examples: ["usr_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

/** Shortest and longest password. A longer one would take longer to hash. */
export const PASSWORD_LENGTH = { min: 10, max: 256 } as const;

const strict = { additionalProperties: false } as const;
const Text = (maxLength: number) => Type.String({ format: "storable", pattern: "\\S", minLength: 1, maxLength });

export const EmailField = Type.String({ title: "Email", format: "mail-address", maxLength: 254, examples: ["ada@example.com"] });
export const PersonName = Text(128);
export const NewPassword = Type.String({ format: "storable", minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max });
const GivenPassword = Type.String({ maxLength: PASSWORD_LENGTH.max });
const Code = Type.String({ maxLength: 64 });

export const SignIn = Type.Object(
  { email: Type.String({ maxLength: 254 }), password: GivenPassword, code: Type.Optional(Code) },
  { title: "SignIn", ...strict },
);
export type SignIn = Static<typeof SignIn>;

export const Confirm = Type.Object(
  { password: Type.Optional(GivenPassword), code: Type.Optional(Code) },
  { title: "Confirm", minProperties: 1, maxProperties: 1, ...strict },
);
export type Confirm = Static<typeof Confirm>;

/** A token of a link, or of a session: 32 bytes in base64url. */
export const LINK_TOKEN = "^[A-Za-z0-9_-]{43}$";
export const LinkPath = Type.Object({ token: Type.String() });
export const LINK_KINDS = ["setup", "invitation", "reset", "verify"] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

/** What a link that may be used once is for. */
export const Link = Type.Object(
  {
    kind: Type.Enum([...LINK_KINDS]),
    email: Nullable(Type.String(), { description: "Whom it is for; null: for anybody who has it." }),
    workspace: Nullable(Type.Object({ id: Type.String(), name: Type.String() })),
    role: Nullable(PersonRoleField),
    expires_at: Moment("When it can no longer be used."),
  },
  { title: "Link" },
);
export type Link = Static<typeof Link>;

export const TakeLink = Type.Object(
  { name: Type.Optional(PersonName), email: Type.Optional(EmailField), password: Type.Optional(NewPassword) },
  { title: "TakeLink", ...strict },
);
export type TakeLink = Static<typeof TakeLink>;

/** Who is signed in, and how one can sign in. */
export const Session = Type.Object(
  {
    person: Nullable(
      Type.Object({
        id: PersonId,
        name: Type.String(),
        email: Type.String(),
        email_verified: Type.Boolean(),
        operator: Type.Boolean(),
        has_password: Type.Boolean(),
        totp: Type.Boolean(),
      }),
    ),
    workspaces: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), plan: PlanName, role: PersonRoleField })),
    confirmed_until: Nullable(Moment("Until then the person need not confirm again that it is them.")),
    sign_in: Type.Object({
      passkeys: Type.Boolean(),
      oidc: Nullable(Type.Object({ name: Type.String() })),
      sign_up: Type.Enum(["open", "closed"]),
      mail: Type.Boolean(),
    }),
  },
  { title: "Session" },
);
export type Session = Static<typeof Session>;
