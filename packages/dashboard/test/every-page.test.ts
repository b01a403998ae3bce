import { describe, expect } from "vitest";
import { newPerson } from "../../server/test/harness/people.ts";
import { test } from "./harness/dashboard.ts";
import { everyPage } from "./harness/every-page.ts";
import { unseenFocus } from "./harness/focus.ts";
import { HOSTILE, seedHostile } from "./seed/seed-hostile.ts";

/** What lists say in a workspace that has nothing. Each says what to do next, too. */
const FIRST_TIME: Readonly<Record<string, string>> = {
  overview: "This workspace has no queue yet",
  jobs: "There are no jobs",
  queues: "There is no queue yet",
  "dead-letters": "No job has failed for good",
  approvals: "Nothing waits for a decision",
  schedules: "There is no schedule yet",
  workflows: "No workflow is registered yet",
  runs: "No workflow has run yet",
  workers: "No worker has asked for work in the last 15 minutes",
  webhooks: "No webhook yet",
  secrets: "No secret yet",
  usage: "Nothing was executed in this month",
};

describe("every page", () => {
  test("of a workspace that has nothing says what to do next", async ({ dashboard }) => {
    const page = await dashboard.open("overview");
    for (const [path, title] of Object.entries(FIRST_TIME)) {
      await dashboard.goTo(page, path);
      const about = page.getByRole("heading", { name: title, level: 2 }).locator("xpath=following-sibling::*");
      await expect.poll(async () => (await about.allTextContents()).join(" ").length, { message: path }).toBeGreaterThan(20);
    }
    expect(dashboard.violations).toEqual([]);
  });

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

    // Behind a proxy with a prefix, too.
    const behind = await dashboard.open("/", { as: person, prefix: "/a/b" });
    const { origin: proxy } = new URL(behind.url());
    for (const { page: one, path } of everyPage(names)) {
      if (!one.bare) await dashboard.walkTo(behind, path, "/a/b");
    }
    expect(dashboard.violations).toEqual([]);
    const { origin } = new URL(signedIn.url());
    expect(
      dashboard.requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith(`${proxy}/a/b/`) && !url.startsWith("data:")),
    ).toEqual([]);
  });
});
