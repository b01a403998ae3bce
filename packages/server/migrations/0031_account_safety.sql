-- An invitation that a key has made ends with the key.
alter table link add created_by_key uuid references api_key on delete cascade;
create index link_key on link (created_by_key) where created_by_key is not null;

-- The ids of keys, from their text form: base32, without the first two of 130 bits. This is not a function: to create a temporary one needs
-- the privilege TEMPORARY.
with maker as (
  select l.id,
    (
      select string_agg(to_hex(substr(bits.text, 3 + 4 * n, 4)::bit(4)::int), '' order by n)::uuid
      from (
        select string_agg((position(substr(l.created_by, 4 + i, 1) in '0123456789abcdefghjkmnpqrstvwxyz') - 1)::bit(5)::text, '' order by i) as text
        from generate_series(1, 26) i
      ) bits, generate_series(0, 31) n
    ) as key_id
  from link l
  where l.created_by ~ '^key_[0-7][0-9a-hjkmnp-tv-z]{25}$'
)
update link l set created_by_key = k.id
from maker m join api_key k on k.id = m.key_id
where l.id = m.id and k.workspace_id = l.workspace_id;

-- Names have no control characters and no marks of text direction any more. One with nothing else is replaced.
update person set name = coalesce(nullif(trim(regexp_replace(name, '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]', '', 'g')), ''), email)
where name ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]';
update workspace set name = coalesce(nullif(trim(regexp_replace(name, '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]', '', 'g')), ''), 'Unnamed')
where name ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]';

-- Somebody who was removed at the identity provider has no session for longer than a day.
update session set expires_at = least(expires_at, created_at + interval '1 day') where signed_in_with = 'oidc';

-- Browsers in which a person has signed in. Wrong passwords from elsewhere do not keep the person from signing in there.
create table known_device (
  token_hash bytea primary key check (length(token_hash) = 32),
  person_id  uuid not null references person on delete cascade,
  expires_at timestamptz not null
);
create index known_device_person on known_device (person_id);
create index known_device_expiry on known_device (expires_at);

-- What happened to accounts: sign-ins, and changes of how people sign in.
create table account_event (
  id          uuid primary key,
  person_id   uuid not null references person on delete cascade,
  event_type  text not null,
  -- `usr_…` of the person, `operator`, or `system`.
  actor_id    text not null,
  -- From where. Null for an operator's command.
  address     text,
  user_agent  text,
  detail      text,
  occurred_at timestamptz not null default moment()
);
create index account_event_person on account_event (person_id, id);
create index account_event_age on account_event (occurred_at);

select make_tenant_views();
