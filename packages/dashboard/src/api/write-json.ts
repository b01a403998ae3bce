import { RawJson } from "./raw-json.ts";

/**
 * Writes a body. `RawJson` values are written as they are.
 *
 * @throws {RangeError} for NaN and Infinity: JSON.stringify makes null of them, which means "no limit" to the service
 */
export function writeJson(value: unknown, name = "It"): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map((one) => writeJson(one ?? null, name)).join(",")}]`;
  if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError(`${name} is not a number.`);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  return `{${members.map(([member, one]) => `${JSON.stringify(member)}:${writeJson(one, member)}`).join(",")}}`;
}
