import { type Attacker, repeat } from "./attacker.ts";

/** Longer values have too many forms to be looked for: the node gives up early, and what the handler said is left out. */
const VALUE_LENGTH = 500;

/** Secrets of an attack, from which its jobs take sets. */
export class SecretPool {
  readonly #prefix: string;
  readonly #count: number;

  private constructor(prefix: string, count: number) {
    this.#prefix = prefix;
    this.#count = count;
  }

  /** Creates `count` secrets whose names begin with `prefix`. */
  static async create(attacker: Attacker, prefix: string, count: number): Promise<SecretPool> {
    const pool = new SecretPool(prefix, count);
    await repeat(count, 8, (index) => {
      const value = `${index}-${crypto.randomUUID()}-`.padEnd(VALUE_LENGTH, `é"\\/${index}`);
      return attacker.must("POST", "/v1/secrets", { name: pool.#nameOf(index), value });
    });
    return pool;
  }

  /** A payload with `size` of the secrets, another set for each `index` below their number. */
  payload(index: number, size: number): object {
    return { values: Array.from({ length: size }, (_, place) => `\${{ secrets.${this.#nameOf(index + place)} }}`) };
  }

  #nameOf(index: number): string {
    return `${this.#prefix}_${index % this.#count}`;
  }
}
