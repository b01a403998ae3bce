import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { RawJson } from "../../src/api/raw-json.ts";
import { asCli, asSdk } from "../../src/pages/jobs/copy-as.ts";
import type { JobRecord } from "../../src/pages/jobs/job-record.ts";

const PAYLOAD = `{"n":12345678901234567890,"text":"it's $(touch /tmp/x) \`y\` \\"z\\""}`;
const JOB = { queue: "emails", payload: new RawJson(PAYLOAD), tag: "a'b", concurrencyKey: null, priority: -5 } as unknown as JobRecord;

test("a command that is copied gives a shell the payload as it was sent, whatever it contains", () => {
  const words = execFileSync("sh", ["-c", `tidemill() { printf '%s\\n' "$@"; }; ${asCli(JOB)}`], { encoding: "utf8" });
  expect(words.trimEnd().split("\n")).toEqual(["enqueue", "--tag", "a'b", "--priority=-5", "emails", PAYLOAD]);
});

test("a payload that is a negative number is no option of the command", () => {
  expect(asCli({ ...JOB, payload: new RawJson("-5"), tag: null })).toBe("tidemill enqueue --priority=-5 -- 'emails' '-5'");
});

test("a call of the SDK that is copied has the payload's digits as they were sent", () => {
  const payload = `{"n": 12345678901234567890, "of": [-0.1, 1e400, "12345678901234567890"], "__proto__" : {"a\\"": 1}}`;
  const call = asSdk({ ...JOB, payload: new RawJson(payload) });
  const sent: string[] = [];
  const enqueue = async (...given: unknown[]) => void sent.push(JSON.stringify(given));
  new Function("tidemill", `return (async () => { ${call} })()`)({ queue: () => ({ enqueue }) });
  expect(sent).toEqual([`[${payload.replaceAll(" ", "")},{"tag":"a'b","priority":-5}]`]);
});
