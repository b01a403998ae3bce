const HEX = /^[0-9a-fA-F]{64}$/;
/** Standard base64, or base64url. */
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/** The 32 bytes of a key in base64 or hex, or null when the text is not such a key. */
export function readKeyBytes(text: string): Buffer | null {
  if (HEX.test(text)) return Buffer.from(text, "hex");
  return BASE64.test(text) ? Buffer.from(text, "base64") : null;
}
