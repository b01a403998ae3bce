-- Data keys of the service itself, each wrapped by a master key, as those of secrets are.
create table own_key (
  name          text primary key,
  wrapped_key   bytea not null,
  master_key_id text not null
);

-- Codes of an authenticator (TOTP), a second proof beside the password.
create table totp (
  person_id  uuid primary key references person on delete cascade,
  -- A new one for each attempt to enrol: a code enables only the secret that it was made from.
  id         uuid not null,
  -- Encrypted with the key "totp" of own_key.
  ciphertext bytea not null,
  -- Null while it is not in use yet.
  enabled_at timestamptz,
  -- Codes of this step of 30 seconds, and of those before, were used.
  last_step  bigint not null default 0
);

create table recovery_code (
  person_id uuid not null references person on delete cascade,
  hash      bytea not null check (length(hash) = 32),
  primary key (person_id, hash)
);

create table passkey (
  id            uuid primary key,
  person_id     uuid not null references person on delete cascade,
  name          text not null,
  -- The name of the host that it is for.
  rp_id         text not null,
  credential_id text not null unique,
  public_key    bytea not null,
  counter       bigint not null,
  transports    text[] not null default '{}',
  created_at    timestamptz not null default moment(),
  last_used_at  timestamptz
);
create index passkey_person on passkey (person_id, id);

-- What authenticators and identity providers were asked, once each. `about` is what must be known when the answer comes.
create table challenge (
  hash       bytea primary key check (length(hash) = 32),
  purpose    text not null,
  person_id  uuid references person on delete cascade,
  about      text,
  expires_at timestamptz not null
);
create index challenge_expiry on challenge (expires_at);
create index challenge_person on challenge (person_id) where person_id is not null;

-- Accounts of identity providers (OpenID Connect) that belong to a person.
create table identity (
  issuer     text not null,
  subject    text not null,
  person_id  uuid not null references person on delete cascade,
  created_at timestamptz not null default moment(),
  primary key (issuer, subject)
);
create index identity_person on identity (person_id);


-- Memberships and rights of operators that follow from groups of an identity provider, and end with them.
alter table membership add managed boolean not null default false;
alter table person add operator_managed boolean not null default false;

select make_tenant_views();
