const HEX = /^[0-9a-fA-F]{64}$/;
/** The alphabet for addresses too. */
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/** The 32 bytes of the key that a text spells in base64 or hex; null when it spells none. */
export function readKeyBytes(text: string): Buffer | null {
  if (HEX.test(text)) return Buffer.from(text, "hex");
  return BASE64.test(text) ? Buffer.from(text, "base64") : null;
}
