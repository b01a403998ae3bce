import { type Static, Type } from "typebox";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";
import { PlanName } from "./plans.ts";
import { WorkspacePath } from "./workspaces.ts";

/** What a person may do in a workspace: the roles of keys, except `worker`. Source: contract §13. */
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
/** A name that people see. */
const Text = (maxLength: number) => Type.String({ format: "shown-name", pattern: "\\S", minLength: 1, maxLength });

export const EmailField = Type.String({
  title: "Email",
  description: "A mail address.",
  format: "mail-address",
  maxLength: 254,
  examples: ["ada@example.com"],
});
export const PersonName = Text(128);
export const NewPassword = Type.String({ format: "storable", minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max });
const GivenPassword = Type.String({ maxLength: PASSWORD_LENGTH.max });
const Code = Type.String({ maxLength: 64 });

export const SignIn = Type.Object(
  { email: Type.String({ format: "storable", maxLength: 254 }), password: GivenPassword, code: Type.Optional(Code) },
  { title: "SignIn", ...strict },
);
export type SignIn = Static<typeof SignIn>;

export const Confirm = Type.Object(
  {
    password: Type.Optional(GivenPassword),
    code: Type.Optional(Code),
    passkey: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
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
    email: Nullable(Type.String(), { description: "The address of the person it is for; null: anybody who has it." }),
    workspace: Nullable(Type.Object({ id: Type.String(), name: Type.String() })),
    role: Nullable(PersonRoleField),
    new_account: Type.Boolean({ description: "Whether it creates an account for `email`, an address that the link proves." }),
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
        more_by_provider: Type.Boolean({
          description: "Whether the person has rights that apply only in a session that began at the identity provider.",
        }),
        has_password: Type.Boolean(),
        totp: Type.Boolean(),
      }),
    ),
    workspaces: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), plan: PlanName, role: PersonRoleField })),
    confirmed_until: Nullable(Moment("Until when the person need not confirm again that it is them.")),
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

const member = {
  id: PersonId,
  name: Type.String({ description: "The person's name." }),
  email: Type.String({ description: "The person's mail address." }),
  role: PersonRoleField,
  created_at: Moment("When the person joined the workspace."),
};

/** A person who belongs to a workspace. Source: contract §13. */
export const Member = Type.Object(member, {
  title: "Member",
  description: "A person who belongs to the workspace.",
  examples: [
    {
      id: "usr_01kajv3k4ve6nsd9z5kgtzx0rw",
      name: "Ada",
      email: "ada@example.com",
      role: "write",
      created_at: "2026-11-21T09:30:00.000Z",
    },
  ],
});
export type Member = Static<typeof Member>;

export const AddMember = Type.Object(
  { id: PersonId, role: PersonRoleField },
  {
    title: "AddMember",
    description: "A person who has an account, to add to the workspace. Others are invited.",
    examples: [{ id: "usr_01kajv3k4ve6nsd9z5kgtzx0rw", role: "write" }],
    ...strict,
  },
);
export type AddMember = Static<typeof AddMember>;

export const PatchMember = Type.Object(
  { role: PersonRoleField },
  { title: "PatchMember", description: "The member's new role.", examples: [{ role: "read" }], ...strict },
);
export type PatchMember = Static<typeof PatchMember>;

export const MemberPath = Type.Object({ id: PersonId });
export const ListMembers = Type.Object({ ...PageQuery, cursor: Cursor("MemberCursor", "usr_01kajv3k4ve6nsd9z5kgtzx0rw") }, strict);
export type ListMembers = Static<typeof ListMembers>;

export const InvitationId = Type.String({
  title: "InvitationId",
  pattern: "^inv_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Id of an invitation. It cannot be used to accept it.",
  examples: ["inv_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

const invitation = {
  id: InvitationId,
  role: PersonRoleField,
  email: Nullable(Type.String(), { description: "The address of the person it is for; null: anybody who has its URL." }),
  created_by: Type.String({ description: "Who made it: the id of a person or a key." }),
  created_at: Moment("When it was made."),
  expires_at: Moment("When it can no longer be accepted."),
};

const invitationExample = {
  id: "inv_01kajv3k4ve6nsd9z5kgtzx0rw",
  role: "write",
  email: "ada@example.com",
  created_by: "usr_01kajv2m9qf1h8s0w6r3n5d7xe",
  created_at: "2026-11-21T09:30:00.000Z",
  expires_at: "2026-11-24T09:30:00.000Z",
};

/** An invitation that nobody has accepted yet. Source: contract §13. */
export const Invitation = Type.Object(invitation, {
  title: "Invitation",
  description: "An invitation that nobody has accepted yet.",
  examples: [invitationExample],
});
export type Invitation = Static<typeof Invitation>;

export const CreateInvitation = Type.Object(
  {
    role: PersonRoleField,
    email: Type.Optional(Nullable(EmailField, { description: "The address of the person it is for. Null or left out: anybody." })),
  },
  {
    title: "CreateInvitation",
    description: "An invitation to make. With an address, only a person with that address can accept it.",
    examples: [{ role: "write", email: "ada@example.com" }],
    ...strict,
  },
);
export type CreateInvitation = Static<typeof CreateInvitation>;

export const CreatedInvitation = Type.Object(
  {
    ...invitation,
    url: Type.String({ description: "Where it is accepted, once. Only this response contains it." }),
    mailed: Type.Boolean({ description: "Whether the URL is also on its way to `email`." }),
  },
  {
    title: "CreatedInvitation",
    description: "A new invitation, with its URL.",
    examples: [
      {
        ...invitationExample,
        url: "https://jobs.example.com/dashboard/link/7PqjZ1gH4mDk0wXyN2sVtB8cRfLa5eJoUi3hGvQxY6M",
        mailed: true,
      },
    ],
  },
);
export type CreatedInvitation = Static<typeof CreatedInvitation>;

export const InvitationPath = Type.Object({ id: InvitationId });
export const WorkspaceInvitationPath = Type.Object({ ...WorkspacePath.properties, invitation_id: InvitationId });
export const ListInvitations = Type.Object({ ...PageQuery, cursor: Cursor("InvitationCursor", "inv_01kajv3k4ve6nsd9z5kgtzx0rw") }, strict);
export type ListInvitations = Static<typeof ListInvitations>;

/** A session of a person, as their account shows it. */
export const OwnSession = Type.Object(
  {
    id: Type.String(),
    current: Type.Boolean(),
    signed_in_with: Type.String(),
    address: Nullable(Type.String()),
    user_agent: Nullable(Type.String()),
    created_at: Moment("When it began."),
    last_used_at: Moment("When it was last used, accurate to about a minute."),
    expires_at: Moment("When it ends at the latest."),
  },
  { title: "OwnSession" },
);
export type OwnSession = Static<typeof OwnSession>;
export const SessionPath = Type.Object({ id: Type.String({ pattern: "^ses_[0-7][0-9a-hjkmnp-tv-z]{25}$" }) });

/** What is recorded about a person's account: sign-ins, and changes to how they sign in. */
export const ACCOUNT_EVENT_TYPES = [
  "session.started",
  "session.ended",
  "sessions.ended",
  "code.refused",
  "password.changed",
  "password.reset",
  "email.changed",
  "totp.enabled",
  "totp.disabled",
  "recovery_codes.replaced",
  "recovery_code.used",
  "passkey.added",
  "passkey.removed",
  "identity.added",
  "reset_link.made",
  "account.reset",
  "operator.granted",
  "operator.revoked",
] as const;
export type AccountEventType = (typeof ACCOUNT_EVENT_TYPES)[number];

export const AccountEvent = Type.Object(
  {
    id: Type.String(),
    event_type: Type.Enum(ACCOUNT_EVENT_TYPES),
    actor_id: Type.String({ description: "Who did it: the id of the person, `operator`, or `system`." }),
    address: Nullable(Type.String(), { description: "The client's IP address; null: not from a browser." }),
    user_agent: Nullable(Type.String()),
    detail: Nullable(Type.String(), { description: "How somebody signed in, or the name of what was changed." }),
    occurred_at: Moment("When it happened."),
  },
  { title: "AccountEvent" },
);
export type AccountEvent = Static<typeof AccountEvent>;
export const ListAccountEvents = Type.Object(
  { ...PageQuery, cursor: Cursor("AccountEventCursor", "acc_01kajv3k4ve6nsd9z5kgtzx0rw") },
  strict,
);
export type ListAccountEvents = Static<typeof ListAccountEvents>;

export const ChangePassword = Type.Object(
  { password: Type.Optional(GivenPassword), new_password: NewPassword },
  { title: "ChangePassword", ...strict },
);
export type ChangePassword = Static<typeof ChangePassword>;

export const PatchProfile = Type.Object(
  { name: Type.Optional(PersonName), email: Type.Optional(EmailField) },
  { title: "PatchProfile", minProperties: 1, ...strict },
);
export type PatchProfile = Static<typeof PatchProfile>;

export const OwnNewWorkspace = Type.Object({ name: PersonName }, { title: "OwnNewWorkspace", ...strict });
export type OwnNewWorkspace = Static<typeof OwnNewWorkspace>;

export const RequestReset = Type.Object(
  { email: Type.String({ format: "storable", maxLength: 254 }) },
  { title: "RequestReset", ...strict },
);
export type RequestReset = Static<typeof RequestReset>;

export const TotpCode = Type.Object({ code: Code }, { title: "TotpCode", ...strict });
export type TotpCode = Static<typeof TotpCode>;
/** A secret for an authenticator, which is not in use yet. */
export const PendingTotp = Type.Object({ secret: Type.String(), uri: Type.String() }, { title: "PendingTotp" });
export type PendingTotp = Static<typeof PendingTotp>;
export const EnabledTotp = Type.Object({ recovery_codes: Type.Array(Type.String()) }, { title: "EnabledTotp" });
export type EnabledTotp = Static<typeof EnabledTotp>;

/** The response of the browser's authenticator. The library that verifies it knows its fields. */
const AuthenticatorResponse = Type.Record(Type.String(), Type.Unknown());
export const PasskeyRegistration = Type.Object(
  { name: Text(64), response: AuthenticatorResponse },
  { title: "PasskeyRegistration", ...strict },
);
export type PasskeyRegistration = Static<typeof PasskeyRegistration>;
export const PasskeyAnswer = Type.Object({ response: AuthenticatorResponse }, { title: "PasskeyAnswer", ...strict });
export type PasskeyAnswer = Static<typeof PasskeyAnswer>;
export const Passkey = Type.Object(
  { id: Type.String(), name: Type.String(), created_at: Moment("When it was added."), last_used_at: Nullable(Moment("RFC 3339 in UTC.")) },
  { title: "Passkey" },
);
export type Passkey = Static<typeof Passkey>;
export const PasskeyPath = Type.Object({ id: Type.String({ pattern: "^pky_[0-7][0-9a-hjkmnp-tv-z]{25}$" }) });
