import { createServer, type Server } from "node:http";
import Provider from "oidc-provider";

/** What the provider knows of somebody. */
export interface Account {
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly groups?: readonly string[];
}

export const CLIENT_ID = "tidemill";
export const CLIENT_SECRET = "the secret of this client, which is long enough";

/** A real OpenID Connect provider. Its login page asks for the account's name and a password, which may be anything. */
export class TestIdentityProvider {
  readonly accounts = new Map<string, Account>();
  readonly #server: Server;
  readonly issuer: string;

  private constructor(server: Server, issuer: string, redirectUri: string) {
    this.#server = server;
    this.issuer = issuer;
    const provider = new Provider(issuer, {
      clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirectUri] }],
      pkce: { required: () => true },
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
      conformIdTokenClaims: false,
      features: { devInteractions: { enabled: true } },
      findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ sub, ...this.accounts.get(sub) }) }),
      cookies: { keys: ["a key of this test"] },
    });
    server.on("request", provider.callback());
  }

  static async listen(redirectUri: string): Promise<TestIdentityProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    return new TestIdentityProvider(server, `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`, redirectUri);
  }

  /** Signs in there as a browser does, from the address to which it was sent. Returns where it is sent back to. */
  async signIn(start: string, account: string): Promise<string> {
    const cookies = new Map<string, string>();
    let method = "GET";
    let body: URLSearchParams | null = null;
    for (let url = start; ; ) {
      const response = await fetch(url, {
        method,
        redirect: "manual",
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
        body,
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [name = "", value = ""] = (cookie.split(";")[0] ?? "").split("=");
        cookies.set(name, value);
      }
      const location = response.headers.get("location");
      method = "GET";
      body = null;
      if (location !== null) {
        url = new URL(location, url).href;
        if (!url.startsWith(this.issuer)) return url;
        continue;
      }
      const page = await response.text();
      const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1];
      if (!response.ok || action === undefined) throw new Error(`${url} returned ${response.status}: ${page.slice(0, 500)}`);
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? "";
      method = "POST";
      body = new URLSearchParams({ prompt, login: account, password: "any" });
      url = new URL(action, url).href;
    }
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
