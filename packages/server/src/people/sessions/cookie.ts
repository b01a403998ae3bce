import type { FastifyReply, FastifyRequest } from "fastify";
import type { PublicUrl } from "../base-url.ts";

const SESSION_SECONDS = 30 * 86_400;
const STATE_SECONDS = 600;
const DEVICE_SECONDS = 90 * 86_400;
const MAX_AGE_SECONDS = { session: SESSION_SECONDS, oidc: STATE_SECONDS, device: DEVICE_SECONDS };

/** A cookie with a token. Scripts cannot read it, and other sites can make a browser send it only with a visit to a page. */
export class TokenCookie {
  readonly #name: string;
  readonly #attributes: string;

  readonly #maxAgeSeconds: number;

  constructor(name: keyof typeof MAX_AGE_SECONDS, { path, secure }: Pick<PublicUrl, "path" | "secure">) {
    this.#maxAgeSeconds = MAX_AGE_SECONDS[name];
    // With this prefix, browsers refuse a cookie that a page without TLS sets for the same host.
    this.#name = `${secure ? "__Secure-" : ""}tidemill_${name}`;
    this.#attributes = `Path=${path}/dashboard; HttpOnly;${secure ? " Secure;" : ""} SameSite=Lax`;
  }

  /**
   * Reads the cookie. Null for a request without one. If a request has several, the first counts: browsers send the one with the longest
   * path first.
   */
  read({ headers: { cookie = "" } }: FastifyRequest): string | null {
    for (const pair of cookie.split(";")) {
      const [name, value = ""] = pair.trim().split("=", 2);
      if (name === this.#name) return value;
    }
    return null;
  }

  set(reply: FastifyReply, token: string): void {
    this.#write(reply, token, this.#maxAgeSeconds);
  }

  clear(reply: FastifyReply): void {
    this.#write(reply, "", 0);
  }

  #write(reply: FastifyReply, token: string, maxAgeSeconds: number): void {
    // Fastify adds the cookie to those that are already set.
    void reply.header("set-cookie", `${this.#name}=${token}; Max-Age=${maxAgeSeconds}; ${this.#attributes}`);
  }
}
