-- Handlers often answer with JSON, like {"error":"no such user"}. What its keys for errors say tells failures apart, so it is kept, and only
-- other quoted values are taken out: {error: no such user}. Dead letters keep the group that they have until they are retried or removed.
create or replace function normalize_error(message text) returns text language sql immutable parallel safe as $$
  select trim(left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    left(message, 400),
    '[[:alpha:]][[:alnum:]+.-]*://[^[:space:]"''`]*', '…', 'g'),
    '"(error|errors|message|msg|code|type|title|reason|details?|description)"[[:space:]]*:[[:space:]]*"([^"]*)("|$)', '\1: \2', 'gi'),
    '"[^"]*"|''[^'']*''|`[^`]*`|“[^”]*”', '…', 'g'),
    '([[:alnum:]-]+[.])+(com|net|org|io|dev|app|cloud|local|internal|localhost|test|example|invalid|[a-z][a-z])(:[0-9]+)?\M', '…', 'gi'),
    '\m[0-9a-f]{8,}\M|[[:alnum:]_]*[0-9][[:alnum:]_]*([.:-]+[[:alnum:]_]+)*', '#', 'gi'),
    '[[:space:]]+', ' ', 'g'), 200))
$$;
