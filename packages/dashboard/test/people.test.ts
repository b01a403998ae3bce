import { describe, expect } from "vitest";
import { codeAt } from "../../server/src/people/second-factors/totp-code.ts";
import { newPerson, PASSWORD } from "../../server/test/harness/people.ts";
import { answerForNow } from "./harness/answer.ts";
import { test } from "./harness/dashboard.ts";

describe("members", () => {
  test("an admin invites, changes a role and removes, by keyboard, after having confirmed once", async ({ dashboard, service }) => {
    const admin = await newPerson(service, { confirmed: false });
    const other = await newPerson(service, { role: "read" });
    await service.database.query("update person set name = 'Somebody else' where email = $1", [other.email]);
    await service.database.query("update person set name = $1 where email = $2", ["A very long name ".repeat(5).trim(), admin.email]);
    const page = await dashboard.open("members", { as: admin });
    await page.getByText(other.email).waitFor();
    const cell = page.getByRole("gridcell").filter({ hasText: "(you)" });
    const beyond = () =>
      cell
        .getByText("(you)", { exact: true })
        .evaluate((you) => you.getBoundingClientRect().right - (you.closest("[role=gridcell]")?.getBoundingClientRect().right ?? 0));
    await expect.poll(beyond).toBeLessThanOrEqual(0);
    expect(await dashboard.axe(page)).toEqual([]);

    await page.getByRole("button", { name: "Invite", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByLabel("Mail address").and(page.locator(":focus")).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await page.keyboard.type("guest@example.com");
    await page.keyboard.press("Enter");
    // What gives access must be confirmed.
    await page.getByRole("dialog", { name: "Confirm that it is you" }).locator("input[type=password]:focus").waitFor();
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    const made = page.getByRole("dialog", { name: "The invitation's link" });
    await made.waitFor();
    await expect.poll(() => made.locator("output").textContent()).toMatch(/\/dashboard\/link\/[\w-]{43}$/);
    await made.getByRole("button", { name: "I have stored it" }).press("Enter");
    await page.getByText("guest@example.com").waitFor();
    await page.getByRole("button", { name: "Revoke the invitation for guest@example.com" }).press("Enter");
    await page.getByRole("dialog", { name: "Revoke the invitation?" }).getByRole("button", { name: "Revoke", exact: true }).press("Enter");
    await page.getByText("The invitation can no longer be accepted").waitFor();
    await page.getByText("No invitation is open.").waitFor();

    await page.getByRole("button", { name: "Change role of Somebody else" }).press("Enter");
    await page.getByRole("radio", { name: "write" }).check();
    await page.getByRole("button", { name: "Change the role", exact: true }).press("Enter");
    await page.getByText("Somebody else has the role write").waitFor();
    await page.getByRole("button", { name: "Remove Somebody else" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).press("Enter");
    await page.getByText("Somebody else no longer belongs to Test").waitFor();
    expect((await other.auth("GET", "session")).body.workspaces).toEqual([]);
    expect(dashboard.violations).toEqual([]);
  });
});

test("who is no administrator is told so in place of keys, members, workspaces and nodes, and asks for none of them", async ({
  dashboard,
  service,
}) => {
  const page = await dashboard.open("overview", { as: await newPerson(service, { role: "write" }) });
  dashboard.requests.length = 0;
  for (const [path, says, refused] of [
    ["keys", "Only administrators see this page", "New key"],
    ["members", "Only administrators see this page", "Invite"],
    ["audit", "Only administrators see this page", "Verify the chain"],
    ["/operator/workspaces", "Only operators see this page", "New workspace"],
    ["/operator/nodes", "Only operators see this page", "Try again"],
  ] as const) {
    await dashboard.goTo(page, path);
    await page.getByRole("heading", { name: says }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: refused }).count(), { message: path }).toBe(0);
  }
  expect(dashboard.requests.filter((url) => /\/v1\/(keys|members|invitations|audit-events|workspaces|nodes)/.test(url))).toEqual([]);
  expect(await dashboard.axe(page)).toEqual([]);
});

describe("the account page", () => {
  test("an authenticator is set up, with its codes shown once, and asked for at sign-in", async ({ dashboard, service }) => {
    const person = await newPerson(service);
    const page = await dashboard.open("/account", { as: person, theme: "dark" });
    await page.getByRole("button", { name: "Set up an authenticator" }).press("Enter");
    const secret = (await page.locator("form code").textContent()) ?? "";
    await page.getByRole("img", { name: "QR code of the secret" }).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    const step = Math.floor(service.clock.nowMs() / 30_000);
    await page.getByLabel("Code that the app shows").fill(codeAt(secret, step));
    await page.keyboard.press("Enter");
    await page.getByRole("list", { name: "Recovery codes" }).waitFor();
    await expect.poll(() => page.getByRole("list", { name: "Recovery codes" }).locator("li").count()).toBe(10);

    const signIn = await dashboard.open("/sign-in", { as: null });
    await signIn.locator("input[name=email]:focus").waitFor();
    await signIn.keyboard.type(person.email);
    await signIn.keyboard.press("Tab");
    await signIn.keyboard.type(PASSWORD);
    await signIn.keyboard.press("Enter");
    await signIn.locator("input[name=code]:focus").waitFor();
    await signIn.keyboard.type(codeAt(secret, step + 1));
    await signIn.keyboard.press("Enter");
    await signIn.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(dashboard.violations).toEqual([]);
  });

  test("a passkey is added, signs in, and confirms; then it is removed", async ({ dashboard, service }) => {
    const person = await newPerson(service);
    const page = await dashboard.open("/account", { as: person, host: "localhost" });
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("WebAuthn.enable");
    await cdp.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await page.getByLabel("Name of the new passkey").fill("My laptop");
    await page.keyboard.press("Enter");
    await page.getByRole("list", { name: "Passkeys" }).getByText("My laptop").waitFor();
    expect(await dashboard.axe(page)).toEqual([]);

    await page.context().clearCookies();
    await page.goto(new URL("/dashboard/sign-in", page.url()).href);
    await page.getByRole("button", { name: "Sign in with a passkey" }).press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();

    await service.database.query("update session set confirmed_until = null");
    await page.goto(new URL("/dashboard/account", page.url()).href);
    await page.getByRole("button", { name: "Remove the passkey My laptop" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).press("Enter");
    await page.getByRole("button", { name: "Use a passkey" }).press("Enter");
    await page.getByRole("list", { name: "Passkeys" }).getByText("My laptop").waitFor({ state: "hidden" });
    expect(dashboard.violations).toEqual([]);
  });

  test("a changed mail address leaves a name that was changed elsewhere meanwhile", async ({ dashboard, service }) => {
    const person = await newPerson(service);
    const page = await dashboard.open("/account", { as: person });
    expect((await person.auth("PATCH", "profile", { name: "Named elsewhere" })).status).toBe(204);
    for (const address of ["first@example.com", "second@example.com"]) {
      await page.getByLabel("Mail address").fill(address);
      await page.getByRole("button", { name: "Save" }).click();
      await expect
        .poll(async () => (await person.auth("GET", "session")).body.person)
        .toMatchObject({ name: "Named elsewhere", email: address });
    }
    await expect.poll(() => page.getByRole("textbox", { name: "Name", exact: true }).inputValue()).toBe("Named elsewhere");
    expect(dashboard.violations).toEqual([]);
  });

  test("the password is changed, and other sessions are ended", async ({ dashboard, service }) => {
    const person = await newPerson(service);
    const page = await dashboard.open("/account", { as: person });
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByLabel("New password").fill("an entirely new password");
    await page.getByRole("button", { name: "Change the password" }).press("Enter");
    await page.getByText("Your password is changed").waitFor();
    await expect.poll(() => page.getByRole("list", { name: "Sessions" }).locator("li").count()).toBe(1);
    expect((await person.auth("GET", "session")).body.person).toBeNull();
    await page.getByRole("list", { name: "What happened to this account" }).getByText("The password was changed").waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    expect(dashboard.violations).toEqual([]);
  });
});

describe("the operator's pages", () => {
  test("an operator sees which nodes run, which was lost, and what is not known of one", async ({ dashboard, service }) => {
    const process = "00000000-0000-7000-8000-000000000001";
    await service.database.query(
      `with opened as (insert into lease (holder, expires_at) values ('node', now() - interval '1 minute') returning id)
       insert into node (lease_id, master_key_ids, process) select id, '{}', $1 from opened`,
      [process],
    );
    const page = await dashboard.open("/operator/nodes", { as: await newPerson(service, { operator: true }) });
    const nodes = page.getByRole("grid", { name: "Nodes" });
    await nodes.getByRole("row", { name: /unknown.*lost.*unknown/ }).waitFor();
    await nodes.getByRole("row", { name: /alive.*0 of 4,096.*MiB of/ }).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await service.database.query("delete from lease where id = (select lease_id from node where process = $1)", [process]);
    await nodes.getByRole("row", { name: /lost/ }).waitFor({ state: "detached" });
    expect(dashboard.violations).toEqual([]);
  });

  test("the list of nodes goes on with a button, and with another one after it could not be loaded", async ({ dashboard, service }) => {
    const [oldest] = await service.database.query<{ id: string }>(
      `with opened as (insert into lease (holder, expires_at) select 'node', now() - interval '1 minute' from generate_series(1, 120) returning id),
         made as (insert into node (lease_id, master_key_ids, process, host) select id, '{}', gen_random_uuid(), 'many' from opened returning lease_id)
       select min(lease_id)::text as id from made`,
    );
    const page = await dashboard.open("/operator/nodes", { as: await newPerson(service, { operator: true }) });
    await page.getByText("of the newest 100").first().waitFor();
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "More" }).waitFor({ state: "detached" });
    await page.keyboard.press("End");
    await page
      .getByRole("grid", { name: "Nodes" })
      .getByRole("gridcell", { name: oldest?.id ?? "", exact: true })
      .waitFor();

    const recover = await answerForNow(page, (url) => url.pathname.endsWith("/v1/nodes"), {
      status: 400,
      json: { error: { code: "VALIDATION_ERROR", message: "No.", details: {} } },
    });
    await dashboard.goTo(page, "/operator/nodes");
    const alert = page.getByRole("alert");
    await alert.getByText("Could not load the nodes").waitFor();
    recover();
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("grid", { name: "Nodes" }).getByRole("row", { name: /^many/ }).first().waitFor();
    await service.database.query("delete from lease where id in (select lease_id from node where host = 'many')");
    expect(dashboard.violations).toEqual([]);
  });

  test("an operator makes a workspace with its first admin, changes its plan and deletes it; others do not see the page", async ({
    dashboard,
    service,
  }) => {
    const operator = await newPerson(service, { operator: true });
    const page = await dashboard.open("/operator/workspaces", { as: operator });
    await page.getByRole("grid", { name: "Workspaces" }).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await page.getByRole("button", { name: "New workspace" }).press("Enter");
    await page.getByRole("dialog").getByLabel("Name").fill("Acme");
    await page.keyboard.press("Enter");
    const made = page.getByRole("dialog", { name: "The first key of Acme" });
    await expect.poll(() => made.locator("output").textContent()).toMatch(/^svc_ws_/);
    await made.getByRole("button", { name: "I have stored it" }).press("Enter");
    await page.getByRole("dialog", { name: "Who administers Acme?" }).getByLabel("Mail address").fill("first@example.com");
    expect(await dashboard.axe(page)).toEqual([]);
    await page.keyboard.press("Enter");
    const invitation = page.getByRole("dialog", { name: "The invitation's link" });
    const link = (await invitation.locator("output").textContent()) ?? "";
    expect((await operator.auth("GET", `links/${link.split("/").at(-1)}`)).body).toMatchObject({
      workspace: { name: "Acme" },
      role: "admin",
    });
    await invitation.getByRole("button", { name: "I have stored it" }).press("Enter");
    await page.getByRole("button", { name: "Invite an administrator of Acme" }).press("Enter");
    const open = page.getByRole("dialog", { name: "Who administers Acme?" });
    expect(await dashboard.axe(page)).toEqual([]);
    await open.getByRole("button", { name: "Revoke the invitation for first@example.com" }).press("Enter");
    await page.getByRole("dialog", { name: "Revoke the invitation?" }).getByRole("button", { name: "Revoke" }).press("Enter");
    await page.getByText("The invitation can no longer be accepted").waitFor();
    await open.getByRole("listitem").waitFor({ state: "detached" });
    expect((await operator.auth("GET", `links/${link.split("/").at(-1)}`)).status).toBe(404);
    await open.getByRole("button", { name: "Not now" }).press("Enter");

    await page.getByRole("button", { name: "Change Acme" }).press("Enter");
    await expect.poll(() => page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    const requests = page.getByLabel("Requests a minute");
    await requests.fill("1234");
    await requests.press("Home");
    // A lone minus would be no number, and no number is no limit.
    await requests.press("-");
    await expect.poll(() => requests.inputValue()).toBe("1,234");
    const { body } = await operator.operate("GET", "/workspaces");
    const acme = (body as { data: { id: string; name: string }[] }).data.find(({ name }) => name === "Acme");
    await operator.operate("PATCH", `/workspaces/${acme?.id}`, { name: "Acme Ltd", limits: { retention_days: 9 } });
    expect(await dashboard.axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Save" }).press("Enter");
    // What another operator has changed meanwhile stays.
    await page.getByRole("row", { name: /Acme Ltd.*free.*10,000.*1,234.*9 days/ }).waitFor();
    await page.getByRole("button", { name: "Change Acme Ltd" }).press("Enter");
    await page.getByLabel("Name").fill("Acme");
    await page.getByRole("checkbox", { name: "The limits of the plan" }).check();
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByRole("row", { name: /Acme.*free.*10,000 60 / }).waitFor();
    await page.getByRole("link", { name: "Acme" }).click();
    await page.getByRole("button", { name: "Workspace Acme free · read" }).waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Delete Acme" }).press("Enter");
    const question = page.getByRole("dialog", { name: "Delete Acme?" });
    await expect.poll(() => question.getByRole("button", { name: "Delete the workspace" }).isDisabled()).toBe(true);
    await question.getByLabel("Type Acme to confirm").fill("Acme");
    await page.keyboard.press("Enter");
    await page.getByText("Acme is deleted").waitFor();
    await page.getByRole("row", { name: /Acme/ }).waitFor({ state: "detached" });
    const other = await dashboard.open("members");
    await expect.poll(() => other.getByRole("link", { name: "Workspaces" }).count()).toBe(0);
    await expect.poll(() => other.getByRole("link", { name: "Nodes" }).count()).toBe(0);
    expect(dashboard.violations).toEqual([]);
  });
});
