/** The master key cannot be had, or does not fit the vault. The message is one line for the person who started the node. */
export class VaultKeyError extends Error {
  override readonly name = "VaultKeyError";
  readonly code = "MASTER_KEY_UNUSABLE";
}
