-- People, who sign in to the dashboard.
create table person (
  id                  uuid primary key,
  name                text not null,
  -- In lower case.
  email               text not null unique,
  -- When the owner of the address was last proven to be this person. Null: somebody only said so.
  email_verified_at   timestamptz,
  -- Argon2id in PHC string format. Null for people who sign in by other means.
  password_hash       text,
  -- Operators use the operator API and see all workspaces.
  operator            boolean not null default false,
  -- Increases with each change of how the person signs in. A sign-in or a session that began before it is refused.
  credentials_version integer not null default 1,
  created_at          timestamptz not null default moment(),
  updated_at          timestamptz not null default moment()
);

create table membership (
  workspace_id uuid not null references workspace on delete cascade,
  person_id    uuid not null references person on delete cascade,
  role         text not null check (role in ('admin', 'write', 'read')),
  created_at   timestamptz not null default moment(),
  updated_at   timestamptz not null default moment(),
  primary key (workspace_id, person_id)
);
create index membership_person on membership (person_id, workspace_id);

create table session (
  id                  uuid primary key,
  person_id           uuid not null references person on delete cascade,
  token_hash          bytea not null unique check (length(token_hash) = 32),
  -- That of the person when they signed in.
  credentials_version integer not null,
  signed_in_with      text not null check (signed_in_with in ('password', 'passkey', 'oidc', 'link')),
  -- Until then the person need not prove again that it is them.
  confirmed_until     timestamptz,
  -- Another session took its place. Requests in flight may still end.
  replaced            boolean not null default false,
  address             text,
  user_agent          text,
  created_at          timestamptz not null default moment(),
  last_used_at        timestamptz not null default moment(),
  expires_at          timestamptz not null
);
create index session_person on session (person_id, id);
create index session_expiry on session (expires_at);

-- Links that may be used once: to set up the first person, to join a workspace, to reset a password, to prove a mail address.
create table link (
  id           uuid primary key,
  kind         text not null check (kind in ('setup', 'invitation', 'reset', 'verify')),
  token_hash   bytea not null unique check (length(token_hash) = 32),
  -- The workspace that the link makes its user a member of, with the role.
  workspace_id uuid references workspace on delete cascade,
  role         text check (role in ('admin', 'write', 'read')),
  -- Whom the link is for. Null: for anybody who has it.
  email        text,
  person_id    uuid references person on delete cascade,
  -- The link was sent to `email`, so that whoever uses it reads the mail of that address.
  mailed       boolean not null default false,
  created_by   text not null,
  created_at   timestamptz not null default moment(),
  expires_at   timestamptz not null,
  check ((kind in ('setup', 'invitation')) = (role is not null)),
  check (kind <> 'reset' or person_id is not null)
);
create index link_workspace on link (workspace_id, id);
create index link_person on link (person_id);
create index link_expiry on link (expires_at);

-- How often something was tried in a while, by what is limited: an account, an address.
create table throttle (
  key     text primary key,
  tries   integer not null,
  ends_at timestamptz not null
);
create index throttle_end on throttle (ends_at);

select make_tenant_views();
