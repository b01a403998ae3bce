import { givenText } from "../given-text.ts";

const NICKNAMES = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly"];
const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
  /** Special values: neither a number, a name, a range nor a step. */
  readonly special?: RegExp;
}

const FIELDS: readonly Field[] = [
  { name: "second", min: 0, max: 59 },
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of month", min: 1, max: 31, special: /^(L|LW|\d+W)$/ },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "day of week", min: 0, max: 7, names: DAYS, special: /^(\w+#[1-5L]|\w*L)$/ },
];

/**
 * Finds mistakes in a cron expression that the service would certainly refuse. Only the service parses it in full.
 *
 * @throws {TypeError} naming the field
 */
export function checkCron(expression: string): void {
  if (typeof expression !== "string") throw new TypeError(`A cron expression must be a string, not ${givenText(expression)}.`);
  if (NICKNAMES.includes(expression)) return;
  const parts = expression.split(/[ \t]+/).filter((part) => part !== "");
  if (parts.length !== 5 && parts.length !== 6) {
    throw new TypeError(
      `The cron expression ${JSON.stringify(expression)} has ${parts.length} fields. It must have 5 (minute, hour, day of month, month, day of week), 6 with seconds first, or be one of ${NICKNAMES.join(", ")}.`,
    );
  }
  for (const [at, field] of FIELDS.slice(-parts.length).entries()) {
    const part = parts[at] ?? "";
    if (part.split(",").every((item) => fits(field, item.toUpperCase()))) continue;
    const { name, min, max, names = [] } = field;
    const range = [`${min} to ${max}`, ...(names.length > 0 ? [`${names[0]} to ${names.at(-1)}`] : [])].join(", ");
    throw new TypeError(
      `The cron expression ${JSON.stringify(expression)} has an invalid ${name}, ${JSON.stringify(part)}. It must be ${range}, or *.`,
    );
  }
}

function fits(field: Field, item: string): boolean {
  if (field.special?.test(item)) return true;
  const [, first = "", last, step] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(item) ?? [];
  if (step !== undefined && Number(step) === 0) return false;
  return first === "*" ? last === undefined : isValue(field, first) && (last === undefined || isValue(field, last));
}

const isValue = ({ min, max, names = [] }: Field, text: string): boolean =>
  /^\d{1,2}$/.test(text) ? Number(text) >= min && Number(text) <= max : names.includes(text);

/** @throws {TypeError} */
export function checkTimezone(timezone: string): void {
  if (typeof timezone === "string" && /^[A-Za-z]/.test(timezone) && isZone(timezone)) return;
  throw new TypeError(`timezone must be the IANA name of a time zone, for example "Europe/Berlin", not ${givenText(timezone)}.`);
}

function isZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return true;
  } catch {
    return false;
  }
}
