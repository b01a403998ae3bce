import { parseTemplates, TemplateError } from "@tidemill/contract";
import { describe, expect, test } from "vitest";
import { readVectors } from "../harness/vectors.ts";

const { valid, invalid } = readVectors("templates");

/** The message for each error of the vectors. */
const MESSAGES: Record<string, RegExp> = {
  unclosed: /^has a \$\{\{ without \}\}$/,
  unknown_namespace: /^has a template of the namespace "\w+"; there is only "secrets"$/,
  no_secret: /^has a template that names no secret \(".*"\); one reads /,
};

describe("parseTemplates", () => {
  test.each(valid)("reads $name", ({ text, parts }) => {
    expect(parseTemplates(text)).toEqual(parts);
  });

  test.each(invalid)("refuses $name", ({ text, error }) => {
    expect(() => parseTemplates(text)).toThrow(TemplateError);
    expect(() => parseTemplates(text)).toThrow(MESSAGES[error]);
  });

  test("names a namespace that there is not", () => {
    expect(() => parseTemplates("${{ Secrets.A }}")).toThrow('namespace "Secrets"');
    expect(() => parseTemplates("${{ env.HOME }}")).toThrow('namespace "env"');
  });
});
