import { SECRET_NAME } from "@tidemill/contract";
import { describe, expect, test } from "vitest";
import { ProblemError } from "#kernel";
import openapi from "../../../../openapi.json" with { type: "json" };
import { compileSchema } from "../../src/http/validate.ts";

/** What a request with this body is refused with. */
function refusal(schema: object, body: unknown): unknown {
  const validate = compileSchema({ schema, httpPart: "body", method: "POST", url: "/" }) as (value: unknown) => { error?: Error };
  const { error } = validate(body);
  return error instanceof ProblemError ? error.details : error;
}

describe("a value that breaks a rule of its schema", () => {
  test.for([
    [{ type: "string" }, 1, "must be a string"],
    [{ type: "integer" }, 1.5, "must be a whole number"],
    [{ type: "number" }, "1", "must be a number"],
    [{ type: "boolean" }, 1, "must be true or false"],
    [{ type: "object" }, [], "must be an object"],
    [{ type: "array" }, {}, "must be an array"],
    [{ type: ["string", "integer"] }, true, "must be a string or a whole number"],
    [{ enum: ["skip", "allow"] }, "all", "must be one of skip, allow"],
    [{ const: true }, false, "must be true"],
    [{ minimum: 0 }, -1, "must be at least 0"],
    [{ maximum: 100 }, 101, "must be at most 100"],
    [{ minLength: 1 }, "", "must not be empty"],
    [{ minLength: 16 }, "short", "must have at least 16 characters"],
    [{ maxLength: 1 }, "ab", "must have at most 1 character"],
    [{ minItems: 1 }, [], "must not be empty"],
    [{ maxItems: 2 }, [1, 2, 3], "must have at most 2 items"],
    [{ minProperties: 1 }, {}, "must not be empty"],
    [{ uniqueItems: true }, ["a", "b", "a"], "must not have the same item twice: items 0 and 2 are equal"],
    [{ pattern: "^[a-z]+$" }, "A", 'must match the pattern "^[a-z]+$"'],
    [
      { pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" },
      "-",
      "must be 1 to 128 letters, digits, dots, dashes or underscores, and begin with a letter or digit",
    ],
    [{ pattern: SECRET_NAME }, "a", "must be 1 to 128 capital letters, digits or underscores, and begin with a letter"],
    [{ pattern: "^job_[0-7][0-9a-hjkmnp-tv-z]{25}$" }, "job_1", "must be an id that begins with job_"],
    [{ pattern: "\\S" }, " ", "must not be blank"],
    [{ format: "date-time" }, "today", "must be an RFC 3339 date and time, like 2026-11-21T09:30:00Z"],
  ] as const)("the message for %o is plain", ([rule, value, message]) => {
    const schema = { type: "object", properties: { field: rule } };
    expect(refusal(schema, { field: value })).toEqual({ issues: [{ path: "field", message }] });
  });

  test("the message for a value that may be null says what else it may be", () => {
    const schema = { type: "object", properties: { field: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] } } };
    expect(refusal(schema, { field: 0 })).toEqual({ issues: [{ path: "field", message: "must be at least 1" }] });
    expect(refusal(schema, { field: null })).toBeUndefined();
  });

  test.for([
    ["an unknown field", { properties: {}, additionalProperties: false }, 0],
    ["a field beside a missing one", { properties: { field: {} }, additionalProperties: false, required: ["field"] }, 1],
    ["an invalid field", { additionalProperties: { type: "string" } }, 0],
    ["a name that is invalid", { propertyNames: { maxLength: 9 } }, 0],
  ] as const)("a long name is cut in the path of %s", ([, schema, at]) => {
    const name = "~/".repeat(1_000_000);
    const { issues } = refusal({ type: "object", ...schema }, { [name]: 1 }) as { issues: { path: string }[] };
    expect(issues[at]?.path).toBe(`${name.slice(0, 100)}…`);
  });

  test("the message for a pattern of the API is in words, whichever it is", () => {
    const patterns = JSON.stringify(openapi).matchAll(/"pattern":"((?:[^"\\]|\\.)*)"/g);
    // A day, a hash and the secret of a webhook are only in replies.
    const inReplies = ["^\\d{4}-\\d{2}-\\d{2}$", "^[0-9a-f]{64}$", "^whsec_[A-Za-z0-9+/]{43}=$"];
    for (const pattern of new Set(
      [...patterns].map(([, text]) => JSON.parse(`"${text}"`) as string).filter((pattern) => !inReplies.includes(pattern)),
    )) {
      expect(refusal({ pattern }, "\u0007"), pattern).not.toMatchObject({ issues: [{ message: expect.stringContaining("pattern") }] });
    }
  });
});
