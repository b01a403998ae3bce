/** An alphabet of digits that stand for fewer bits than a byte has: what digits a byte gets depends on what stands before it. */
interface Alphabet {
  readonly bits: 5 | 6;
  /** Bytes after which it begins anew. */
  readonly period: 5 | 3;
  encode(bytes: Buffer): string;
}

export const BASE64: Alphabet = { bits: 6, period: 3, encode: (bytes) => bytes.toString("base64") };
export const BASE32: Alphabet = { bits: 5, period: 5, encode: base32 };

/** The digits of some bytes wherever they stand among others: those that hold nothing but their bits. */
export interface Packing {
  readonly digits: string;
  /** How many digits before, and after, hold some of their bits, too. */
  readonly before: number;
  readonly after: number;
}

/** How some bytes, given one character per byte, are packed: one packing for each place that they may begin at. */
export function packingsOf(bytes: string, { bits, period, encode }: Alphabet): Packing[] {
  return Array.from({ length: period }, (_, lead) => {
    const first = 8 * lead;
    const end = first + 8 * bytes.length;
    const digits = encode(Buffer.from("\0".repeat(lead) + bytes, "latin1"));
    return {
      digits: digits.slice(Math.ceil(first / bits), Math.floor(end / bits)),
      before: first % bits === 0 ? 0 : 1,
      after: end % bits === 0 ? 0 : 1,
    };
  });
}

const BASE32_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Without the digit that is only begun. */
function base32(bytes: Buffer): string {
  let text = "";
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff;
    for (bits += 8; bits >= 5; bits -= 5) text += BASE32_DIGITS.charAt((held >> (bits - 5)) & 31);
  }
  return text;
}
