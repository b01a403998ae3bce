import { failureOf } from "./workflow/failure.ts";

/** A part of a value that has no JSON: its path in the value, and what is wrong with it, for example "is a BigInt". */
export interface JsonFault {
  readonly path: string;
  readonly what: string;
}

/**
 * Finds the part of a value for which `JSON.stringify` has thrown.
 *
 * @param path the path of the value itself
 */
export function jsonFaultOf(value: unknown, path: string, thrown: unknown): JsonFault {
  const unknown = { path, what: `cannot be read (${failureOf(thrown).message})` };
  try {
    return faultIn(value, path, new Set()) ?? unknown;
  } catch {
    return unknown;
  }
}

/** @param around the objects that the value is in */
function faultIn(value: unknown, path: string, around: Set<object>): JsonFault | null {
  if (value === null || value === undefined || "toJSON" in Object(value)) return null;
  if (typeof value === "bigint") return { path, what: "is a BigInt" };
  if (typeof value !== "object") return null;
  if (around.has(value)) return { path, what: "is a circular reference" };
  around.add(value);
  for (const [name, member] of Object.entries(value)) {
    const fault = faultIn(member, pathTo(path, name, Array.isArray(value)), around);
    if (fault) return fault;
  }
  around.delete(value);
  return null;
}

const pathTo = (path: string, name: string, isInList: boolean): string =>
  isInList ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
