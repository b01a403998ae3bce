import { test as base } from "./engine.ts";
import { CLIENT_ID, CLIENT_SECRET, TestIdentityProvider } from "./identity-provider.ts";
import { Browser } from "./people.ts";
import { newWorkspace, startTestNode } from "./service.ts";

/** A node behind a public URL, whose people sign in by a real provider. */
export const test = base
  .extend("workspaces", { scope: "file" }, async ({ database }) => [await newWorkspace(database), await newWorkspace(database)] as const)
  .extend("provider", { scope: "file" }, async ({}, { onCleanup }) => {
    const provider = await TestIdentityProvider.listen("http://jobs.example.com/a/b/dashboard/auth/oidc/callback");
    onCleanup(() => provider.close());
    return provider;
  })
  .extend("sso", { scope: "file" }, async ({ database, clock, provider, workspaces: [one, other] }, { onCleanup }) => {
    const node = await startTestNode(database, clock, {
      TIDEMILL_PUBLIC_URL: "http://jobs.example.com/a/b",
      TIDEMILL_OIDC_ISSUER: provider.issuer,
      TIDEMILL_OIDC_CLIENT_ID: CLIENT_ID,
      TIDEMILL_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      TIDEMILL_OIDC_NAME: "Example",
      TIDEMILL_OIDC_ROLES: `developers=${one.id}:write, leads=${one.id}:admin, everybody=${other.id}:read, operators=operator`,
    });
    onCleanup(() => node.stop());
    return node;
  });

/** The callback's path and query, as the proxy passes them on. */
export const callback = (url: string): string => new URL(url).pathname.replace("/a/b", "") + new URL(url).search;

export const start = (browser: Browser, query = "") => browser.auth("GET", `oidc/start${query}`);

/** Keeps all cookies, not only the session's. */
export class WholeBrowser extends Browser {
  readonly #cookies = new Map<string, string>();

  override async send(...args: Parameters<Browser["send"]>): ReturnType<Browser["send"]> {
    const [method, path, body, headers = {}] = args;
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const reply = await super.send(method, path, body, { cookie, ...headers });
    for (const set of reply.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";")[0] ?? "").split("=");
      if (value === "") this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return reply;
  }

  hold(cookie: string): this {
    const [name = "", value = ""] = cookie.split("=");
    this.#cookies.set(name, value);
    return this;
  }
}

/** Signs in by the provider. Returns the reply of the callback. */
export async function signIn(provider: TestIdentityProvider, browser: Browser, account: string, query = "") {
  const sent = (await start(browser, query)).headers.get("location") ?? "";
  const back = await provider.signIn(sent, account);
  // Browsers say that another site has sent them.
  return browser.send("GET", callback(back), undefined, { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" });
}
