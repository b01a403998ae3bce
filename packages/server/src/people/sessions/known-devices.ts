import type { FastifyReply, FastifyRequest } from "fastify";
import type { Db, PersonId, Random } from "#kernel";
import type { TokenCookie } from "./cookie.ts";
import { extendDevice, insertDevice, isDeviceOf } from "./known-device-store.ts";
import { hashNewToken, hashToken, makeToken } from "./token.ts";

/**
 * Browsers in which people have signed in, known by a cookie. Tries to sign in from a known browser are counted separately: tries from
 * elsewhere, from however many addresses, cannot keep a person from signing in there. The cookie signs nobody in.
 */
export class KnownDevices {
  readonly #cookie: TokenCookie;
  readonly #random: Random;

  constructor(cookie: TokenCookie, random: Random) {
    this.#cookie = cookie;
    this.#random = random;
  }

  /** Remembers the browser of a person who has just signed in. Returns a function that sets its cookie. */
  async remember(db: Db, request: FastifyRequest, personId: PersonId): Promise<(reply: FastifyReply) => void> {
    const known = this.#cookie.read(request) ?? "";
    const hash = hashToken(known);
    if (hash && (await extendDevice(db, hash, personId))) return (reply) => this.#cookie.set(reply, known);
    const token = makeToken(this.#random);
    await insertDevice(db, hashNewToken(token), personId);
    return (reply) => this.#cookie.set(reply, token);
  }

  /** The browser of a request, if the person with that address has signed in with it. */
  async find(db: Db, request: FastifyRequest, email: string): Promise<string | null> {
    const hash = hashToken(this.#cookie.read(request) ?? "");
    return hash && (await isDeviceOf(db, hash, email)) ? hash.toString("base64url") : null;
  }
}
