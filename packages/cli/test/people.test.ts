import { expect } from "vitest";
import { Browser } from "../../server/test/harness/people.ts";
import { type Stage, test } from "../../server/test/harness/stage.ts";

interface Event {
  readonly event_type: string;
  readonly actor_id: string;
}

const PASSWORD = "a long enough password";

test("tidemill people makes, resets, promotes and removes people, with effect on running nodes at once", async ({ stage }) => {
  const database = await stage.database();
  const settings = { DATABASE_URL: database.url };
  const node = await stage.node(settings);
  const people = async (...args: string[]) => {
    const { code, stdout, stderr } = await stage.run(["people", ...args, "--json"], settings);
    return { code, stderr, shown: stdout === "" ? null : JSON.parse(stdout) };
  };
  const [workspace] = await workspaces(stage, settings);
  const token = (url: string) => url.split("/").at(-1) ?? "";

  const added = await people("add", "Ada@Example.com", "--name", "Ada", "--workspace", workspace.id, "--role", "admin");
  expect(added).toMatchObject({ code: 0, shown: { id: expect.stringMatching(/^usr_/) } });
  // The node has a free port, not the one of the settings.
  expect(added.shown.set_password_at).toMatch(`${node.url}/dashboard/link/`);
  const browser = new Browser(node.url);
  const password = { password: PASSWORD };
  expect((await browser.auth("POST", `links/${token(added.shown.set_password_at)}`, password)).status).toBe(204);
  expect((await browser.auth("GET", "session")).body.workspaces).toMatchObject([{ id: workspace.id, role: "admin" }]);
  const nodes = JSON.parse((await stage.run(["node", "list", "--json"], settings)).stdout);
  expect(nodes).toMatchObject([{ state: "alive", in_flight: 0, memory_bytes: expect.any(Number) }]);
  expect((await people("list")).shown).toMatchObject([{ name: "Ada", email: "ada@example.com", operator: false, workspaces: 1 }]);

  expect((await browser.operate("GET", "/workspaces")).status).toBe(403);
  expect((await people("operator", "ada@example.com")).shown).toEqual({ email: "ada@example.com", operator: true });
  expect((await browser.operate("GET", "/workspaces")).status).toBe(200);
  // Who is no operator any more must not come back by an invitation of theirs.
  const { body: acme } = await browser.operate("POST", "/workspaces", { name: "Acme" });
  const { body: invitation } = await browser.operate("POST", `/workspaces/${acme.id}/invitations`, { role: "admin" });
  expect((await browser.auth("GET", `links/${token(invitation.url)}`)).body).toMatchObject({ workspace: { name: "Acme" }, role: "admin" });
  const invitations = (...args: string[]) => stage.run(["invitation", ...args, "--json"], settings);
  const another = (await browser.operate("POST", `/workspaces/${acme.id}/invitations`, { role: "read" })).body;
  expect(JSON.parse((await invitations("list", acme.id)).stdout)).toMatchObject([
    { id: another.id, role: "read", created_by: added.shown.id },
    { id: invitation.id, role: "admin" },
  ]);
  expect(JSON.parse((await invitations("list", acme.id, "--limit", "1")).stdout)).toMatchObject([{ id: another.id }]);
  expect((await invitations("revoke", acme.id, another.id)).code).toBe(0);
  expect((await invitations("revoke", acme.id, another.id)).code).toBe(1);
  expect((await browser.auth("GET", `links/${token(another.url)}`)).status).toBe(404);
  await people("operator", "ada@example.com", "--off");
  expect((await browser.auth("GET", `links/${token(invitation.url)}`)).status).toBe(404);
  expect((await browser.operate("GET", "/workspaces")).status).toBe(403);

  const reset = await people("reset", "ada@example.com");
  expect((await browser.auth("GET", "session")).body.person).toBeNull();
  expect((await browser.auth("POST", "sign-in", { email: "ada@example.com", password: PASSWORD })).status).toBe(401);
  expect((await browser.auth("POST", `links/${token(reset.shown.set_password_at)}`, password)).status).toBe(204);

  expect((await people("log", "ada@example.com")).shown.map(({ event_type, actor_id }: Event) => [event_type, actor_id]).reverse()).toEqual(
    [
      ["reset_link.made", "operator"],
      ["password.reset", added.shown.id],
      ["session.started", added.shown.id],
      ["operator.granted", "operator"],
      ["operator.revoked", "operator"],
      ["account.reset", "operator"],
      ["reset_link.made", "operator"],
      ["password.reset", added.shown.id],
      ["session.started", added.shown.id],
    ],
  );

  const refused = await people("remove", "ada@example.com");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("last admin");
  expect((await people("remove", "ada@example.com", "--force")).shown).toEqual({ email: "ada@example.com", removed: true });
  expect((await browser.auth("GET", "session")).body.person).toBeNull();
  expect((await people("reset", "ada@example.com")).code).toBe(1);
  expect((await people("setup-link")).shown.url).toMatch(`${node.url}/dashboard/link/`);
});

async function workspaces(stage: Stage, settings: Record<string, string>) {
  const { stdout } = await stage.run(["workspace", "list", "--json"], settings);
  return JSON.parse(stdout);
}
