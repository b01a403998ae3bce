import { readdir, readFile } from "node:fs/promises";
import { describe, expect } from "vitest";
import { bareApi } from "../harness/bare-api.ts";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { test } from "../harness/service.ts";

const SOURCES = new URL("../../src/", import.meta.url);
const ID = "01kajv3k4ve6nsd9z5kgtzx0rw";
const TOKEN = "7PqjZ1gH4mDk0wXyN2sVtB8cRfLa5eJoUi3hGvQxY6M";
const MAIL = { email: "nobody@example.com" };

/** Who may use a route of pages: anybody, whoever is signed in, or who has also confirmed lately. And a body that it takes. */
type Needs = readonly ["anybody" | "session" | "confirmed", body?: object];

/** Every route under /dashboard/auth. A new one needs a row here. */
const PAGES: Record<string, Needs> = {
  "GET session": ["anybody"],
  "POST sign-in": ["anybody", { ...MAIL, password: "a wrong one" }],
  "POST sign-out": ["anybody"],
  "POST confirm": ["session", { password: "a wrong one" }],
  "POST reset": ["anybody", MAIL],
  "POST sign-up": ["anybody", MAIL],
  "GET links/:token": ["anybody"],
  "POST links/:token": ["anybody", {}],
  "PATCH profile": ["session", { name: "A person" }],
  "POST password": ["session", { password: "a wrong one", new_password: PASSWORD }],
  "POST workspaces": ["session", { name: "Mine" }],
  "GET sessions": ["session"],
  "DELETE sessions": ["session"],
  "DELETE sessions/:id": ["session"],
  "GET events": ["session"],
  "POST totp": ["confirmed"],
  "POST totp/enable": ["confirmed", { code: "000000" }],
  "POST totp/recovery-codes": ["confirmed"],
  "DELETE totp": ["confirmed"],
  "GET passkeys": ["session"],
  "POST passkeys/options": ["confirmed"],
  "POST passkeys": ["confirmed", { name: "A passkey", response: {} }],
  "DELETE passkeys/:id": ["confirmed"],
  "POST passkeys/sign-in/options": ["anybody"],
  "POST passkeys/sign-in": ["anybody", { response: {} }],
  // Not served by a node without a provider. Their own tests are in oidc.test.ts.
  "GET oidc/start": ["anybody"],
  "GET oidc/callback": ["anybody"],
};

/** Every route of the operator API, with a body that it takes. What changes something needs to be confirmed. */
const OPERATOR: Record<string, object | null> = {
  "GET nodes": null,
  "GET workspaces": null,
  "POST workspaces": { name: "New" },
  "GET workspaces/:id": null,
  "PATCH workspaces/:id": { name: "New" },
  "DELETE workspaces/:id": null,
  "GET workspaces/:id/invitations": null,
  "POST workspaces/:id/invitations": { role: "read" },
  "DELETE workspaces/:id/invitations/:invitation_id": null,
  "GET workspaces/:id/keys": null,
  "POST workspaces/:id/keys": { name: "New" },
  "DELETE workspaces/:id/keys/:key_id": null,
};

/** The routes below a path, as tests mount them. */
async function mounted(below: string): Promise<string[]> {
  const found = new Set<string>();
  const api = await bareApi(
    ({ method, url, config }) => {
      // Routes with `allow` refuse the other methods. Those of HEAD come with those of GET.
      if (!url.startsWith(below) || config?.allow !== undefined || method === "HEAD") return;
      for (const one of [method].flat()) found.add(`${one} ${url.slice(below.length)}`);
    },
    { operatorPages: true },
  );
  await api.close();
  return [...found].sort();
}

/** Splits `GET workspaces/:id` into a method and a path that names nothing. */
function requestOf(route: string): [method: string, path: string] {
  const [method = "", path = ""] = route.split(" ");
  const prefix = path.startsWith("passkeys") ? "pky" : path.startsWith("sessions") ? "ses" : "ws";
  return [method, path.replace(":token", TOKEN).replace(":id", `${prefix}_${ID}`).replace(":key_id", `key_${ID}`)];
}

const changes = (method: string) => method !== "GET";

/** Headers of requests that another site has made a browser send: over TLS or at localhost, and with plain HTTP in a local network. */
const FOREIGN = [
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "", origin: "http://192.168.1.66" },
  { "sec-fetch-site": "", origin: "null" },
  { "sec-fetch-site": "" },
  { "x-tidemill-dashboard": "" },
];

describe("every route", () => {
  test("of the sources is mounted in these tests, and those of pages and operators are listed here", async () => {
    const [all, pages, operator] = [await mounted("/"), await mounted("/dashboard/auth/"), await mounted("/admin/v1/")];
    const files = (await readdir(SOURCES, { recursive: true })).filter((file) => file.endsWith(".ts"));
    const written: string[] = [];
    for (const file of files) {
      const text = await readFile(new URL(file, SOURCES), "utf8");
      for (const [, method = "", url = ""] of text.matchAll(/\.(get|post|put|patch|delete)\(\s*"(\/(?:v1|admin|dashboard\/auth)\/[^"]+)"/g))
        written.push(`${method.toUpperCase()} ${url.slice(1)}`);
    }
    expect(written.length).toBeGreaterThan(110);
    expect(written.filter((route) => !all.includes(route))).toEqual([]);
    expect(pages).toEqual(Object.keys(PAGES).sort());
    expect(operator).toEqual(Object.keys(OPERATOR).sort());
  });

  test("of an account asks for a session, and for a confirmation where it changes how one signs in", async ({ service }) => {
    const guest = new Browser(service.node.url);
    const unconfirmed = await newPerson(service, { confirmed: false });
    for (const [route, [needs, body]] of Object.entries(PAGES)) {
      const [method, path] = requestOf(route);
      if (path.startsWith("oidc/") || needs === "anybody") continue;
      const asGuest = await guest.auth(method, path, body);
      expect([route, asGuest.status, asGuest.body.error.message]).toEqual([route, 401, "Sign in first."]);
      if (needs !== "confirmed") continue;
      const refused = await unconfirmed.auth(method, path, body);
      expect([route, refused.status, refused.body.error.details]).toEqual([route, 403, { confirm: true }]);
    }
  });

  test("of operators is for operators, who have confirmed before they change something", async ({ service }) => {
    const guest = new Browser(service.node.url);
    const people = [await newPerson(service), await newPerson(service, { role: "read" })];
    const operator = await newPerson(service, { operator: true, role: null, confirmed: false });
    for (const [route, body] of Object.entries(OPERATOR)) {
      const [method, path] = requestOf(route);
      const send = (who: Browser) => who.operate(method, `/${path}`, body ?? undefined);
      expect([route, (await send(guest)).status]).toEqual([route, 401]);
      for (const person of people) expect([route, (await send(person)).status]).toEqual([route, 403]);
      const reply = await send(operator);
      if (changes(method)) expect([route, reply.status, reply.body.error.details]).toEqual([route, 403, { confirm: true }]);
      else expect([route, [200, 404].includes(reply.status)]).toEqual([route, true]);
    }
  });

  test("of pages refuses what another site makes a browser send, also with plain HTTP in a local network", async ({ service }) => {
    const person = await newPerson(service, { operator: true });
    const routes = [
      ...Object.entries(PAGES).map(([route, [, body]]) => [route, "/dashboard/auth/", body] as const),
      ...Object.entries(OPERATOR).map(([route, body]) => [route, "/dashboard/api/admin/v1/", body ?? undefined] as const),
    ];
    for (const [route, below, body] of routes) {
      const [method, path] = requestOf(route);
      if (path.startsWith("oidc/")) continue;
      for (const headers of FOREIGN.slice(0, changes(method) ? undefined : 2)) {
        const reply = await person.send(method, below + path, body, headers);
        expect([route, headers, reply.status, reply.body.error.code]).toEqual([route, headers, 403, "FORBIDDEN"]);
        expect(reply.body.error.message).toContain("This request of a page is refused.");
      }
    }
    expect((await person.auth("GET", "session")).body.person).toMatchObject({ id: person.id });
  });
});
