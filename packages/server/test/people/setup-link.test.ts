import { describe, expect } from "vitest";
import { Browser } from "../harness/people.ts";
import { startTestNode, test } from "../harness/service.ts";

const FIRST = { name: "First", email: "First@Example.com", password: "a long enough password" };

const tokenOf = (url: string | null) => /\/dashboard\/link\/([\w-]{43})$/.exec(url ?? "")?.[1] ?? "";

describe("the set-up link", () => {
  test("each start makes one while there is nobody, and the first that is used is the last", async ({ database, clock }) => {
    const one = await startTestNode(database, clock);
    const other = await startTestNode(database, clock, { TIDEMILL_PUBLIC_URL: "https://jobs.example.com/a/b/" });
    try {
      expect(one.setupUrl).toMatch(`${one.url}/dashboard/link/`);
      expect(other.setupUrl).toMatch("https://jobs.example.com/a/b/dashboard/link/");
      const browser = new Browser(one.url);
      const link = await browser.auth("GET", `links/${tokenOf(one.setupUrl)}`);
      expect(link.body).toMatchObject({ kind: "setup", email: null, role: "admin", workspace: { name: "Default" } });

      const used = await browser.auth("POST", `links/${tokenOf(one.setupUrl)}`, FIRST);
      expect(used.status).toBe(204);
      const { body } = await browser.auth("GET", "session");
      expect(body.person).toMatchObject({ name: "First", email: "first@example.com", email_verified: false, operator: true });
      expect(body.workspaces).toMatchObject([{ name: "Default", role: "admin" }]);
      const events = await browser.api(body.workspaces[0].id, "GET", "/v1/audit-events?resource_type=member");
      expect(events.body.data).toMatchObject([{ event_type: "member.added", actor_id: body.person.id, resource_id: body.person.id }]);

      for (const url of [one.setupUrl, other.setupUrl]) {
        const again = new Browser(one.url);
        expect((await again.auth("GET", `links/${tokenOf(url)}`)).status).toBe(404);
        expect((await again.auth("POST", `links/${tokenOf(url)}`, { ...FIRST, email: "second@example.com" })).status).toBe(404);
      }
      const third = await startTestNode(database, clock);
      expect(third.setupUrl).toBeNull();
      await third.stop();
    } finally {
      await one.stop();
      await other.stop();
      await database.query("delete from person");
    }
  });

  test("only one of several people who use links at the same time becomes the first", async ({ database, clock }) => {
    const nodes = [await startTestNode(database, clock), await startTestNode(database, clock)];
    try {
      const replies = await Promise.all(
        nodes.flatMap(({ url, setupUrl }, node) =>
          [0, 1].map((n) =>
            new Browser(url).auth("POST", `links/${tokenOf(setupUrl)}`, { ...FIRST, email: `person-${node}-${n}@example.com` }),
          ),
        ),
      );
      expect(replies.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404]);
      expect(await database.query("select id from person")).toHaveLength(1);
    } finally {
      for (const node of nodes) await node.stop();
      await database.query("delete from person");
    }
  });

  test("a link cannot be used after 72 hours, with missing fields, or with a short password", async ({ database, clock }) => {
    const node = await startTestNode(database, clock);
    try {
      const token = tokenOf(node.setupUrl);
      const browser = new Browser(node.url);
      for (const given of [{}, { ...FIRST, password: "short" }, { ...FIRST, email: "no address" }, { ...FIRST, admin: true }]) {
        expect((await browser.auth("POST", `links/${token}`, given)).status).toBe(400);
      }
      await clock.advance(72 * 3600);
      expect((await browser.auth("POST", `links/${token}`, FIRST)).status).toBe(404);
      expect(await database.query("select id from person")).toHaveLength(0);
    } finally {
      await node.stop();
    }
  });
});
