import path from "node:path";
import type { Config, Random } from "#kernel";
import { checkOutsideCluster, makeKeyFile, readKeyFiles } from "./key-file.ts";
import { type MasterKey, makeMasterKey, readMasterKey } from "./master-key.ts";

type KeySettings = Pick<Config, "masterKeys" | "masterKeyFile" | "dataDir">;

/** The master keys that this process has: those of TIDEMILL_MASTER_KEY, otherwise those of the key file. */
export class Keyring {
  /** The key file; null when the environment gives the keys. */
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
    await checkOutsideCluster(file, path.join(dataDir, "postgres"));
    const keyring = new Keyring(file, []);
    await keyring.reload();
    return keyring;
  }

  /** The ids in the order in which the keys are given: during a rotation the old one first. */
  get ids(): readonly string[] {
    return [...this.#keys.keys()];
  }

  has(id: string): boolean {
    return this.#keys.has(id);
  }

  /** @throws {Error} for a key that is not in the keyring */
  get(id: string): MasterKey {
    const found = this.#keys.get(id);
    if (!found) throw new Error(`There is no master key ${id}.`);
    return found;
  }

  /**
   * Reads the files again. Keys that were there stay: a secret may be read before the end of a rotation and decrypted after it.
   *
   * @throws {VaultKeyError}
   */
  async reload(): Promise<void> {
    if (this.file === null) return;
    const { present, next } = await readKeyFiles(this.file);
    this.#add([present, next].filter((key) => key !== null));
  }

  /** Creates the key file, for a keyring without keys. */
  async makeKey(random: Random): Promise<void> {
    if (this.file !== null) await makeKeyFile(this.file, makeMasterKey(random));
    await this.reload();
  }

  #add(keys: readonly MasterKey[]): void {
    for (const key of keys) this.#keys.set(key.id, this.#keys.get(key.id) ?? key);
  }
}
