/** The master key cannot be read, or is not the vault's. The message is one line, for the operator who started the process. */
export class VaultKeyError extends Error {
  override readonly name = "VaultKeyError";
  readonly code = "MASTER_KEY_UNUSABLE";
}
