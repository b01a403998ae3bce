import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { SIGNATURE_TOLERANCE_SECONDS } from "@tidemill/contract";
import { describe, expect, test } from "vitest";
import { readVectors } from "../../server/test/harness/vectors.ts";

const README = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
const { tolerance_seconds, verify } = readVectors("signatures");

/** README's code for verifying a callback, by language. */
function verifierIn(language: string): string {
  const [, section = ""] = README.split("## Verify a callback\n");
  const [, code] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(section.split("\n## ")[0] ?? "") ?? [];
  if (!code) throw new Error(`README has no verifier in ${language}.`);
  return code;
}

/** Programs that read the cases, and write which of them README's verifier accepts. */
const PROGRAMS = {
  js: {
    command: [process.execPath, "--input-type=module", "--eval"],
    rest: `
      import { readFileSync } from "node:fs";
      const accepted = JSON.parse(readFileSync(0, "utf8")).map(({ secrets, now, headers, body }) => {
        Date.now = () => now * 1000;
        return secrets.some((secret) => isGenuine(headers, Buffer.from(body), secret));
      });
      process.stdout.write(JSON.stringify(accepted));`,
  },
  python: {
    command: ["python3", "-c"],
    rest: `
import json
import sys
from email.message import Message


def accepts(case):
    # What http.server gives a handler.
    headers = Message()
    for name, value in case["headers"].items():
        headers[name] = value
    time.time = lambda: case["now"]
    return any(is_genuine(headers, case["body"].encode(), secret) for secret in case["secrets"])


print(json.dumps([accepts(case) for case in json.loads(sys.stdin.buffer.read())]))
`,
  },
} as const;

function acceptedBy(language: keyof typeof PROGRAMS): boolean[] {
  const { command, rest } = PROGRAMS[language];
  const [name, ...args] = command;
  const { error, status, stdout, stderr } = spawnSync(name, [...args, `${verifierIn(language)}\n${rest}`], {
    input: JSON.stringify(verify),
    encoding: "utf8",
  });
  if (error || status !== 0) throw new Error(`${name} ended with ${status}: ${error?.message ?? stderr}`);
  return JSON.parse(stdout) as boolean[];
}

describe("the verifier that README shows", () => {
  test.for(["js", "python"] as const)("the verifier that README shows in %s accepts what is genuine, and nothing else", (language) => {
    const accepted = acceptedBy(language);
    expect(verify.map(({ name }, at) => [name, accepted[at]])).toEqual(verify.map(({ name, valid }) => [name, valid]));
  });

  test("the verifier that README shows has cases of both kinds to tell apart", () => {
    expect(verify.filter(({ valid }) => valid).length).toBeGreaterThan(10);
    expect(verify.filter(({ valid }) => !valid).length).toBeGreaterThan(40);
    expect(new Set(verify.map(({ name }) => name)).size).toBe(verify.length);
  });
});

test("the vectors have the contract's tolerance", () => {
  expect(tolerance_seconds).toBe(SIGNATURE_TOLERANCE_SECONDS);
});
