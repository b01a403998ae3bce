-- Adds up values in order, and leaves out each one for which what was added before leaves no room.
create function add_fitting(used bigint, value bigint, room bigint) returns bigint language sql immutable parallel safe
  return case when used + value <= room then used + value else used end;
create aggregate sum_fitting(value bigint, room bigint) (sfunc = add_fitting, stype = bigint, initcond = '0');

-- An error of a step as JSON text, written as `JSON.stringify` writes it: a retry compares errors as texts.
create function error_text(name text, message text) returns text language sql stable parallel safe
  return '{"name":' || to_json(name)::text || ',"message":' || to_json(message)::text || '}';
