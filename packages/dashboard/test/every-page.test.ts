import { describe, expect } from "vitest";
import { newPerson } from "../../server/test/harness/people.ts";
import { test } from "./harness/dashboard.ts";
import { everyPage } from "./harness/every-page.ts";
import { unseenFocus } from "./harness/focus.ts";
import { HOSTILE, seedHostile } from "./seed/seed-hostile.ts";

describe("every page", () => {
  test("has no serious finding of axe in either theme, and runs nothing and asks for nothing that a tenant, a handler or a worker wrote", async ({
    dashboard,
    service,
  }) => {
    const names = await seedHostile(service);
    const person = await newPerson(service, { operator: true });
    await service.database.query("update person set name = $1 where email = $2", [HOSTILE[1], person.email]);
    const signedIn = await dashboard.open("/", { as: person });
    const nobody = await dashboard.open("/sign-in", { as: null });
    const findings: Record<string, unknown> = {};
    for (const { page: one, path } of everyPage(names)) {
      const page = one.bare ? nobody : signedIn;
      await dashboard.goTo(page, path);
      const found = {
        axe: await dashboard.axe(page),
        unseenFocus: await unseenFocus(page.locator("body")),
        violations: dashboard.violations.splice(0),
        ran: await page.evaluate("globalThis.ran ?? null"),
        title: (await page.title()).endsWith("Tidemill") ? null : await page.title(),
      };
      if (JSON.stringify(found) !== JSON.stringify({ axe: [], unseenFocus: [], violations: [], ran: null, title: null }))
        findings[one.path] = found;
    }
    expect(findings).toEqual({});
    const origin = new URL(signedIn.url()).origin;
    expect(dashboard.requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:"))).toEqual([]);
  });
});
