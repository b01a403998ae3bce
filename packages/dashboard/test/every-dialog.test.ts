import type { ElementHandle, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { codeAt } from "../../server/src/people/second-factors/totp-code.ts";
import { newPerson } from "../../server/test/harness/people.ts";
import type { Service } from "../../server/test/harness/service.ts";
import { answer } from "./harness/answer.ts";
import { type Dashboard, test } from "./harness/dashboard.ts";
import { dialogsInSources } from "./harness/dialog-sources.ts";
import { unseenFocus } from "./harness/focus.ts";
import { DIALOGS, type Opening, openDialog } from "./seed/dialogs.ts";
import { seedHostile } from "./seed/seed-hostile.ts";

const UNAUTHORIZED = { error: { code: "UNAUTHORIZED", message: "Sign in." } };
const AT = "2026-11-21T11:00:00.000Z";

test("the table of dialogs has each dialog, menu and pop-up of the sources", () => {
  expect(Object.fromEntries(Object.entries(DIALOGS).map(([file, openings]) => [file, openings.length]))).toEqual(dialogsInSources());
});

test("every dialog and menu opens by keyboard, has no serious finding of axe in either theme, keeps the focus, and gives it back", {
  timeout: 600_000,
}, async ({ dashboard, service }) => {
  const { page, names } = await prepare(dashboard, service);
  const found: Record<string, unknown> = {};
  let at = "";
  for (const [file, openings] of Object.entries(DIALOGS)) {
    for (const opening of openings) {
      const path = opening.at.replace(/\$(\w+)/g, (_whole, name: string) => names[name] ?? name);
      if (path !== at) await dashboard.goTo(page, path);
      if (opening.session) await endSession(service, page, opening.session);
      at = opening.changes || opening.role === "listbox" || opening.steps.some((step) => "type" in step) ? "" : path;
      const problems = await check(dashboard, page, opening).catch((error: Error) => [error.message.slice(0, 300)]);
      await service.database.query("update session set confirmed_until = moment() + interval '10 minutes'");
      if (problems.length > 0) {
        found[`${file}: ${opening.shows}`] = problems;
        at = "";
      }
    }
  }
  expect(found).toEqual({});
  expect(dashboard.violations).toEqual([]);
  expect(await page.evaluate("globalThis.ran ?? null")).toBeNull();
});

/** What is wrong with a dialog or a menu. */
async function check(dashboard: Dashboard, page: Page, opening: Opening): Promise<string[]> {
  const { shows, role = "dialog", closes, changes } = opening;
  const used = await openDialog(page, opening);
  const opened = page.getByRole(role, { name: shows, exact: typeof shows === "string" }).last();
  await opened.waitFor();
  const problems = [];
  // The choices of a field are not focused: the field has the focus all the time.
  if (role !== "listbox") await opened.locator(":focus").first().waitFor({ state: "attached" });
  problems.push(...(await dashboard.axe(page, opened)));
  if (role === "dialog")
    problems.push(...(await unseenFocus(opened)).map((html) => `focus is not seen: ${html}`), ...(await leaving(page, opened)));
  if (closes) await opened.getByRole("button", { name: closes }).press("Enter");
  else if (String(shows) !== "Your session has ended") await page.keyboard.press("Escape");
  else return problems;
  await opened.waitFor({ state: "hidden" });
  if (!changes && !(await isFocusedLast(page, used))) {
    problems.push(`the focus is lost to ${await page.evaluate("document.activeElement?.outerHTML.slice(0, 150)")}`);
  }
  return problems;
}

/** From its first control back with Shift, and on again. */
async function leaving(page: Page, dialog: Locator): Promise<string[]> {
  await dialog.locator("button, input, textarea, a[href]").first().focus();
  for (const key of ["Shift+Tab", "Tab"]) {
    await page.keyboard.press(key);
    if ((await dialog.locator(":focus").count()) === 0) return [`${key} leaves it`];
  }
  return [];
}

/** Whether the last control that is still there has the focus. A dialog gives it back a moment later. */
async function isFocusedLast(page: Page, used: readonly ElementHandle<Element>[]): Promise<boolean> {
  for (const control of [...used].reverse()) {
    if (!(await control.evaluate((element) => element.isConnected))) continue;
    return control.evaluate(async (element) => {
      for (let frames = 0; frames < 300 && document.activeElement !== element; frames += 1) await new Promise(requestAnimationFrame);
      return document.activeElement === element;
    });
  }
  return page.evaluate("document.activeElement !== document.body");
}

/** Takes away that the person has confirmed who they are, or refuses the next change of a queue as if the session had ended. */
async function endSession(service: Service, page: Page, session: "unconfirmed" | "ended"): Promise<void> {
  if (session === "unconfirmed") {
    await service.database.query("update session set confirmed_until = null");
    return;
  }
  let isRefused = false;
  await page.route("**/v1/queues/*", (route) => {
    // The page also reads the queue by itself, maybe before the key is pressed.
    if (isRefused || route.request().method() !== "PATCH") return route.fallback();
    isRefused = true;
    return route.fulfill({ status: 401, json: UNAUTHORIZED });
  });
}

async function prepare(dashboard: Dashboard, service: Service): Promise<{ page: Page; names: Record<string, string> }> {
  const names = await seedHostile(service);
  const person = await newPerson(service, { operator: true });
  const member = await newPerson(service, { role: "read" });
  await service.database.query("update person set name = 'A member' where email = $1", [member.email]);
  const { secret } = (await person.auth("POST", "totp")).body;
  await person.auth("POST", "totp/enable", { code: codeAt(secret, Math.floor(service.clock.nowMs() / 30_000)) });
  const { data } = await service.ok("GET", "/v1/approvals?limit=1");
  const { runIds } = await service.ok("POST", "/v1/workflows/hostile/trigger", {});
  await service.ok("POST", `/v1/runs/${runIds[0]}/cancel`);
  const page = await dashboard.open("workers", { as: person });
  await answer(page, "/auth/passkeys", () => ({ data: [{ id: "1", name: "laptop", created_at: AT, last_used_at: AT }] }));
  return { page, names: { ...names, pending: data[0].id, ended: runIds[0] } };
}
