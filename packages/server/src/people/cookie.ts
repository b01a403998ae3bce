import type { FastifyReply, FastifyRequest } from "fastify";
import type { PublicUrl } from "./base-url.ts";

const MAX_AGE_SECONDS = 30 * 86_400;

/** The session's cookie. Scripts cannot read it, and other sites cannot have it sent with anything but a visit to a page. */
export class SessionCookie {
  readonly #name: string;
  readonly #attributes: string;

  constructor({ path, secure }: Pick<PublicUrl, "path" | "secure">) {
    // With this prefix, browsers refuse a cookie that a page without TLS sets for the same host.
    this.#name = secure ? "__Secure-tidemill_session" : "tidemill_session";
    this.#attributes = `Path=${path}/dashboard; HttpOnly;${secure ? " Secure;" : ""} SameSite=Lax`;
  }

  /** Null for a request without one, and the first for a request with several: browsers send the one with the longest path first. */
  read({ headers: { cookie = "" } }: FastifyRequest): string | null {
    for (const pair of cookie.split(";")) {
      const [name, value = ""] = pair.trim().split("=", 2);
      if (name === this.#name) return value;
    }
    return null;
  }

  set(reply: FastifyReply, token: string): void {
    this.#write(reply, token, MAX_AGE_SECONDS);
  }

  clear(reply: FastifyReply): void {
    this.#write(reply, "", 0);
  }

  #write(reply: FastifyReply, token: string, maxAgeSeconds: number): void {
    void reply.header("set-cookie", `${this.#name}=${token}; Max-Age=${maxAgeSeconds}; ${this.#attributes}`);
  }
}
