import { describe, expect } from "vitest";
import { deleteFormerAcrossWorkspaces } from "../../src/vault/store.ts";
import { test } from "../harness/engine.ts";
import type { Service } from "../harness/service.ts";

const DAY_SECONDS = 24 * 3_600;

/** A secret with this many former values. */
async function rotated(service: Service, name: string, times: number): Promise<void> {
  await service.ok("POST", "/v1/secrets", { name, value: "value 0" });
  for (let n = 1; n <= times; n += 1) {
    await service.advance(1);
    await service.ok("PATCH", `/v1/secrets/${name}`, { value: `value ${n}` });
  }
}

const stored = async ({ database }: Service, name: string) =>
  (
    await database.query<{ former: Buffer | null; since: string | null }>(
      "select former, former_since::text as since from secret where name = $1",
      [name],
    )
  )[0];

describe("the former values of a secret", () => {
  test("are stored encrypted, and are in no response and no audit event", async ({ service }) => {
    await rotated(service, "ENCRYPTED", 1);
    const { former } = (await stored(service, "ENCRYPTED")) ?? {};
    expect(former).toBeInstanceOf(Buffer);
    expect(former?.includes("value 0")).toBe(false);
    const seen = [await service.api("GET", "/v1/secrets"), await service.api("GET", "/v1/audit-events")];
    for (const { text } of seen) expect(text).not.toContain("value 0");
  });

  test("are removed a day after the last rotation", async ({ service, engine }) => {
    await rotated(service, "OLD", 2);
    await service.advance(DAY_SECONDS - 1);
    await deleteFormerAcrossWorkspaces(engine);
    expect(await stored(service, "OLD")).toMatchObject({ former: expect.any(Buffer), since: null });
    await service.advance(1);
    await deleteFormerAcrossWorkspaces(engine);
    const [{ replaced } = {}] = await service.database.query("select updated_at::text as replaced from secret where name = 'OLD'");
    expect(await stored(service, "OLD")).toEqual({ former: null, since: replaced });
  });

  test("are 16 at most, and stay with a change of the limits alone", async ({ service }) => {
    await rotated(service, "MANY", 16);
    expect(await stored(service, "MANY")).toMatchObject({ since: null });
    await service.ok("PATCH", "/v1/secrets/MANY", { value: "another value" });
    const { since } = (await stored(service, "MANY")) ?? {};
    expect(since).not.toBeNull();
    await service.ok("PATCH", "/v1/secrets/MANY", { allowed_queues: ["emails"] });
    expect(await stored(service, "MANY")).toEqual({ former: expect.any(Buffer), since });
  });

  test("are kept up to 256 KiB", async ({ service }) => {
    await service.ok("POST", "/v1/secrets", { name: "LONG", value: "0".repeat(60_000) });
    const missing: boolean[] = [];
    for (let n = 1; n <= 5; n += 1) {
      await service.ok("PATCH", "/v1/secrets/LONG", { value: String(n).repeat(60_000) });
      missing.push((await stored(service, "LONG"))?.since !== null);
    }
    expect(missing).toEqual([false, false, false, false, true]);
  });

  test("of which one was replaced by itself are not kept", async ({ service }) => {
    await rotated(service, "SAME", 0);
    await service.ok("PATCH", "/v1/secrets/SAME", { value: "value 0" });
    expect(await stored(service, "SAME")).toEqual({ former: null, since: null });
  });
});
