import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { freePort } from "../../server/test/harness/free-port.ts";
import { CLIENT_ID, CLIENT_SECRET, TestIdentityProvider } from "../../server/test/harness/identity-provider.ts";
import { linkIn, MailServer } from "../../server/test/harness/mail.ts";
import { newWorkspace, startTestNode } from "../../server/test/harness/service.ts";
import { test as base } from "./harness/dashboard.ts";

/** A node that sends mail, where strangers sign up, and where groups of an identity provider have roles. */
const test = base
  .extend("team", { scope: "file" }, ({ database }) => newWorkspace(database))
  .extend("mails", { scope: "file" }, async ({}, { onCleanup }) => {
    const server = await MailServer.listen();
    onCleanup(() => server.close());
    return server;
  })
  .extend("port", { scope: "file" }, () => freePort())
  .extend("provider", { scope: "file" }, async ({ port }, { onCleanup }) => {
    const provider = await TestIdentityProvider.listen(`http://127.0.0.1:${port}/dashboard/auth/oidc/callback`);
    onCleanup(() => provider.close());
    return provider;
  })
  .extend("node", { scope: "file" }, async ({ database, clock, mails, port, provider, team }, { onCleanup }) => {
    const node = await startTestNode(database, clock, {
      TIDEMILL_PORT: String(port),
      TIDEMILL_PUBLIC_URL: `http://127.0.0.1:${port}`,
      TIDEMILL_SMTP_URL: mails.url,
      TIDEMILL_SIGN_UP: "open",
      TIDEMILL_OIDC_ISSUER: provider.issuer,
      TIDEMILL_OIDC_CLIENT_ID: CLIENT_ID,
      TIDEMILL_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      TIDEMILL_OIDC_NAME: "Example",
      TIDEMILL_OIDC_ROLES: `developers=${team.id}:write`,
    });
    onCleanup(() => node.stop());
    return node;
  });

/** From the button on the page for signing in through the pages of the provider, until it sends the browser back. */
async function signInThere(page: Page, account: string): Promise<void> {
  await page.getByRole("link", { name: "Sign in with Example" }).press("Enter");
  await page.locator("input[name=login]").fill(account);
  await page.locator("input[name=password]").fill("any");
  await page.keyboard.press("Enter");
  // It asks whether this service may know who they are.
  await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" });
  await page.locator("button[type=submit]").press("Enter");
}

const switcher = (page: Page) => page.getByRole("button", { name: /^Workspace/ });

describe("an identity provider", () => {
  test("a button leads there and back to the page that was wanted, with the role of the person's group", async ({
    dashboard,
    provider,
    team,
  }) => {
    provider.accounts.set("ada", { email: "ada@example.com", email_verified: true, name: "Ada", groups: ["developers"] });
    const page = await dashboard.open(`/w/${team.id}/queues`, { as: null });
    await page.getByRole("heading", { name: "Sign in", level: 1 }).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await signInThere(page, "ada");
    await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/dashboard/w/${team.id}/queues`);
    await expect.poll(() => switcher(page).textContent()).toMatch(/Test.*enterprise · write/);
    await expect.poll(() => page.getByRole("link", { name: "Members" }).count()).toBe(0);
    await page.goto(new URL("/dashboard/account", page.url()).href);
    await page.getByText(/^Signed in with the identity provider/).waitFor();
  });

  test("somebody whose groups give no access reads why", async ({ dashboard, provider }) => {
    provider.accounts.set("guest", { email: "guest@example.com", email_verified: true, groups: ["strangers"] });
    const page = await dashboard.open("/sign-in", { as: null });
    await signInThere(page, "guest");
    await page.getByRole("alert").getByText("Your groups there give you no access here.").waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
  });
});

describe("mail", () => {
  test("a stranger signs up and comes to a workspace on Free; later they set a new password by a link", async ({ dashboard, mails }) => {
    const email = "stranger@example.com";
    const page = await dashboard.open("/sign-in", { as: null });
    /** Asks for a link, on a page that the one for signing in leads to, and opens it. */
    const byLink = async (way: string, count: number) => {
      await page.getByRole("link", { name: way }).press("Enter");
      await page.getByLabel("Mail address").fill(email);
      expect(await dashboard.axe(page)).toEqual([]);
      await page.keyboard.press("Enter");
      await page.getByRole("status").getByText("on its way").waitFor();
      await dashboard.goTo(page, `/link/${linkIn(await mails.mailTo(email, count))}`);
      expect(await dashboard.axe(page)).toEqual([]);
    };
    await byLink("Sign up", 1);
    await expect.poll(() => page.getByLabel("Mail address").inputValue()).toBe(email);
    await page.getByLabel("Your name").fill("A stranger");
    await page.locator("input[name=password]").fill("a long enough password");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await expect.poll(() => switcher(page).textContent()).toMatch(/A stranger's workspace.*free · admin/);
    await page.getByText("of 10,000").waitFor();

    await page.context().clearCookies();
    await dashboard.goTo(page, "/sign-in");
    await byLink("Forgot your password?", 2);
    await page.locator("input[name=password]").fill("an entirely new password");
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.context().clearCookies();
    await dashboard.goTo(page, "/sign-in");
    await page.getByLabel("Mail address").fill(email);
    await page.locator("input[name=password]").fill("an entirely new password");
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(dashboard.violations).toEqual([]);
  });
});
