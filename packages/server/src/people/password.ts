import { type Argon2Parameters, argon2, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { FairQueue, type Random } from "#kernel";

const hashAsync = promisify(argon2);

/** Costs of argon2id, as OWASP recommends them: 19 MiB, two passes, one lane. */
const COSTS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
const SALT_BYTES = 16;
/** Each hash takes a core and 19 MiB. */
const MAX_CONCURRENT = 2;
/** About three seconds of work. */
const MAX_WAITING = 64;

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Hashes and verifies passwords, at most two at the same time. Networks of clients take turns. */
export class Passwords {
  readonly #random: Random;
  readonly #queue = new FairQueue({
    maxConcurrent: MAX_CONCURRENT,
    maxWaiting: MAX_WAITING,
    message: "Too many people sign in at the moment.",
  });
  /** A hash that is verified for accounts that do not exist or have no password, so that these take as long as others. */
  readonly #nobodys: string;

  constructor(random: Random) {
    this.#random = random;
    this.#nobodys = phcOf(COSTS, random.bytes(SALT_BYTES), random.bytes(COSTS.tagLength));
  }

  /** Returns the hash of a password in PHC string format. @throws UNAVAILABLE when too many are waiting */
  async hash(network: string, password: string): Promise<string> {
    const nonce = this.#random.bytes(SALT_BYTES);
    return phcOf(COSTS, nonce, await this.#compute(network, { ...COSTS, nonce, message: messageOf(password) }));
  }

  /** Whether a password has this hash. Without a hash it takes as long, and returns false. @throws UNAVAILABLE when too many are waiting */
  async verify(network: string, password: string, stored: string | null): Promise<boolean> {
    const [, memory, passes, parallelism, salt = "", tag = ""] = PHC.exec(stored ?? this.#nobodys) ?? [];
    const expected = Buffer.from(tag, "base64");
    const computed = await this.#compute(network, {
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
      tagLength: expected.length,
      nonce: Buffer.from(salt, "base64"),
      message: messageOf(password),
    });
    return timingSafeEqual(computed, expected) && stored !== null;
  }

  #compute(network: string, parameters: Argon2Parameters): Promise<Buffer> {
    return this.#queue.run(network, () => hashAsync("argon2id", parameters));
  }
}

/** The same text typed on different keyboards can differ in bytes. */
const messageOf = (password: string): string => password.normalize("NFKC");

function phcOf({ memory, passes, parallelism }: typeof COSTS, salt: Buffer, tag: Buffer): string {
  const encode = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(salt)}$${encode(tag)}`;
}
