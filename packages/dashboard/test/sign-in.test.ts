import { describe, expect } from "vitest";
import { newPerson, PASSWORD } from "../../server/test/harness/people.ts";
import { answerForNow } from "./harness/answer.ts";
import { test } from "./harness/dashboard.ts";

describe("signing in", () => {
  test("somebody without a session signs in by keyboard, and comes to the page that they wanted", async ({ dashboard, service }) => {
    const person = await newPerson(service);
    const page = await dashboard.open("workers", { as: null });
    await page.getByRole("heading", { name: "Sign in", level: 1 }).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await page.locator("input[name=email]:focus").waitFor();
    await page.keyboard.type(person.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type("a wrong password");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("The mail address or the password is wrong.").waitFor();
    await page.locator("input[name=password]").focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Workers", level: 1 }).waitFor();
    expect(dashboard.violations).toEqual([]);
  });

  test("a guest makes an account with an invitation, by keyboard, in dark", async ({ dashboard, service }) => {
    const { url } = await service.ok("POST", "/v1/invitations", { role: "read" });
    const page = await dashboard.open(`/link/${url.split("/").at(-1)}`, { as: null, theme: "dark" });
    await page.getByRole("heading", { name: "Join Test", level: 1 }).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await page.locator("input[name=name]:focus").waitFor();
    await page.keyboard.type("A guest");
    await page.keyboard.press("Tab");
    await page.keyboard.type(`guest-${service.workspaceId}@example.com`);
    await page.keyboard.press("Tab");
    await page.keyboard.type("a long enough password");
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toMatch(`/dashboard/w/${service.workspaceId}/`);
    expect(dashboard.violations).toEqual([]);
  });

  test("the form of a link keeps what is typed in it when the session cannot be read again", async ({ dashboard, service }) => {
    const { url } = await service.ok("POST", "/v1/invitations", { role: "read" });
    const page = await dashboard.open(`/link/${url.split("/").at(-1)}`, { as: null });
    await page.locator("input[name=name]").fill("A guest");
    await page.locator("input[name=email]").fill(`late-${service.workspaceId}@example.com`);
    await page.locator("input[name=password]").fill("a long enough password");
    const recover = await answerForNow(page, "**/auth/session", {
      status: 400,
      json: { error: { code: "VALIDATION_ERROR", message: "Not now.", details: {} } },
    });
    // The person looks at another tab, and comes back after two minutes.
    await page.clock.setFixedTime(service.clock.nowMs() + 120_000);
    const [response] = await Promise.all([
      page.waitForResponse("**/auth/session"),
      page.evaluate(() => void dispatchEvent(new Event("visibilitychange"))),
    ]);
    await response.finished();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await expect.poll(() => page.locator("input[name=name]").inputValue()).toBe("A guest");
    recover();
    await page.locator("button[type=submit]").click();
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
  });

  test("a session that ends leaves what was typed, and the page goes on after signing in in another tab", async ({
    dashboard,
    service,
  }) => {
    const person = await newPerson(service);
    const page = await dashboard.open(`queues/${await service.queue()}`, { as: person });
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Callback URL").fill("http://127.0.0.1:9/typed");
    await page.context().clearCookies();
    // The page looks at its session when it is shown again.
    await page.clock.setFixedTime(service.clock.nowMs() + 61_000);
    await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    const opened = page.context().waitForEvent("page");
    await dialog.getByRole("link", { name: "Sign in in a new tab" }).click();
    const tab = await opened;
    await tab.locator("input[name=email]").fill(person.email);
    await tab.locator("input[name=password]").fill(PASSWORD);
    await tab.keyboard.press("Enter");
    await tab.getByRole("button", { name: "Settings" }).waitFor();
    await page.evaluate(() => window.dispatchEvent(new Event("focus")));
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => page.getByLabel("Callback URL").inputValue()).toBe("http://127.0.0.1:9/typed");
    expect(dashboard.violations).toEqual([]);
  });

  test("says so if the browser does not send the session's cookie, as below a path that the service does not know", async ({
    dashboard,
    service,
  }) => {
    const person = await newPerson(service);
    const page = await dashboard.open("jobs", { as: null, prefix: "/a/b" });
    await page.locator("input[name=email]").fill(person.email);
    await page.locator("input[name=password]").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("The operator must set TIDEMILL_PUBLIC_URL").waitFor();
  });

  test("who has an account joins with an invitation by signing in", async ({ dashboard, service }) => {
    const person = await newPerson(service, { role: null });
    const { url } = await service.ok("POST", "/v1/invitations", { role: "write" });
    const page = await dashboard.open(`/link/${url.split("/").at(-1)}`, { as: null });
    await page.getByRole("link", { name: "Sign in" }).press("Enter");
    await page.getByLabel("Mail address").fill(person.email);
    await page.locator("input[name=password]").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Join as A person" }).press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toMatch(`/dashboard/w/${service.workspaceId}/`);
    // Pages of no workspace lead back to the last one.
    await dashboard.goTo(page, "/account");
    await page.getByRole("link", { name: "Queues" }).press("Enter");
    await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/dashboard/w/${service.workspaceId}/queues`);
    expect(dashboard.violations).toEqual([]);
  });

  test("a link that was used says so", async ({ dashboard }) => {
    const page = await dashboard.open(`/link/${"x".repeat(43)}`, { as: null });
    await page.getByRole("heading", { name: "This link cannot be used" }).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
  });
});
