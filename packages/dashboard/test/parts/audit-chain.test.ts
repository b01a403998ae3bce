import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { RawJson } from "../../src/api/raw-json.ts";
import { sha256 } from "../../src/pages/audit/sha256.ts";
import { brokenLink, type ChainedEvent } from "../../src/pages/audit/verify-chain.ts";

test("SHA-256 of texts of all lengths is that of Node", () => {
  for (let length = 0; length < 260; length++) {
    const text = "é€😀a".repeat(length).slice(0, length);
    expect([length, sha256(text)]).toEqual([length, createHash("sha256").update(text).digest("hex")]);
  }
});

const START = "0".repeat(64);
const field = (text: string | null) => (text === null ? "-" : `${Buffer.byteLength(text)}:${text}`);

/** Events of a chain as the service writes them. */
function chain(count: number): ChainedEvent[] {
  const events: ChainedEvent[] = [];
  for (let seq = 1; seq <= count; seq++) {
    const previous = events.at(-1)?.hash ?? START;
    const input = `{"name":"é ${seq}"}`;
    const shown = { event_type: "secret.created", actor_id: "operator", resource_type: "secret", resource_id: "TOKEN" };
    const texts = ["2026-11-21T09:30:00.000123Z", ...["operator", "secret", "TOKEN"]];
    const fields = [previous, "-infinity", "uuid", String(seq), "uuid", "secret.created", ...texts, input, null, "infinity"];
    const canonical = fields.map(field).join("");
    const hash = sha256(canonical);
    const at = "2026-11-21T09:30:00.000Z";
    events.push({ id: `aud_${seq}`, occurred_at: at, ...shown, input: new RawJson(input), output: null, seq, hash, previous, canonical });
  }
  return events;
}

describe("a chain of audit events", () => {
  const [first, second, third] = chain(3) as [ChainedEvent, ChainedEvent, ChainedEvent];

  test("is unbroken as the service wrote it", () => {
    expect([brokenLink(third, null), brokenLink(second, third), brokenLink(first, second)]).toEqual([null, null, null]);
  });

  test.for([
    ["a changed text", { ...second, canonical: second.canonical.replace("TOKEN", "OTHER") }, 2],
    ["another actor than was hashed", { ...second, actor_id: "key_1" }, 2],
    ["another input than was hashed", { ...second, input: new RawJson('{"name":"x"}') }, 2],
    ["an input that was removed", { ...second, input: null }, 2],
    ["an event that was written anew with its hash", { ...second, ...rewritten(second) }, 2],
    ["a missing event", first, 2],
  ] as const)("is broken by %s", ([, event, seq]) => {
    expect(brokenLink(event, third)).toMatchObject({ seq });
  });
});

function rewritten({ canonical }: ChainedEvent): Partial<ChainedEvent> {
  const changed = canonical.replace("8:operator", "8:nobody12");
  return { canonical: changed, hash: sha256(changed), actor_id: "nobody12" };
}
