import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { confirm } from "../src/prompt/confirm.ts";

/** How the command reads an answer. Null is a closed terminal. */
async function answered(text: string | null): Promise<{ agreed: boolean; asked: string }> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const agreed = confirm("Delete it? [y/N] ", input, output);
  if (text === null) input.end();
  else input.write(`${text}\n`);
  return { agreed: await agreed, asked: String(output.read()) };
}

test.for([
  ["y", true],
  ["YES", true],
  [" yes ", true],
  ["", false],
  ["n", false],
  ["yeah", false],
  ["no, yes", false],
  [null, false],
] as const)("the answer %j to a question is taken for %j", async ([text, agreed]) => {
  expect(await answered(text)).toEqual({ agreed, asked: expect.stringContaining("Delete it? [y/N] ") });
});
