import path from "node:path";
import type { Config, Random } from "#kernel";
import { makeKeyFile, readKeyFiles, refuseAmongData } from "./key-file.ts";
import { type MasterKey, makeMasterKey, readMasterKey } from "./master-key.ts";

type KeySettings = Pick<Config, "masterKeys" | "masterKeyFile" | "dataDir">;

/** The master keys that this process has: those of TIDEMILL_MASTER_KEY, or else those of the key file. */
export class Keyring {
  /** Where the key is kept; null when it is given in the environment. */
  readonly file: string | null;
  readonly #keys = new Map<string, MasterKey>();

  private constructor(file: string | null, given: readonly MasterKey[]) {
    this.file = file;
    this.#add(given);
  }

  /** @throws {VaultKeyError} */
  static async open({ masterKeys, masterKeyFile, dataDir }: KeySettings): Promise<Keyring> {
    if (masterKeys.length > 0)
      return new Keyring(
        null,
        masterKeys.flatMap((text) => readMasterKey(text) ?? []),
      );
    const file = masterKeyFile ?? path.join(dataDir, "master.key");
    await refuseAmongData(file, path.join(dataDir, "postgres"));
    const keyring = new Keyring(file, []);
    await keyring.reload();
    return keyring;
  }

  /** Of the keys, in the order in which they are given: of a rotation's two, the old one first. */
  get ids(): readonly string[] {
    return [...this.#keys.keys()];
  }

  has(id: string): boolean {
    return this.#keys.has(id);
  }

  /** @throws {Error} for a key that the ring has not */
  get(id: string): MasterKey {
    const found = this.#keys.get(id);
    if (!found) throw new Error(`There is no master key ${id}.`);
    return found;
  }

  /**
   * Reads the files again. A key that was there stays: what was read before the end of a rotation may be opened after it.
   *
   * @throws {VaultKeyError}
   */
  async reload(): Promise<void> {
    if (this.file === null) return;
    const { present, next } = await readKeyFiles(this.file);
    this.#add([present, next].filter((key) => key !== null));
  }

  /** Makes the key file, for a ring that has no key. */
  async makeKey(random: Random): Promise<void> {
    if (this.file !== null) await makeKeyFile(this.file, makeMasterKey(random));
    await this.reload();
  }

  #add(keys: readonly MasterKey[]): void {
    for (const one of keys) this.#keys.set(one.id, this.#keys.get(one.id) ?? one);
  }
}
