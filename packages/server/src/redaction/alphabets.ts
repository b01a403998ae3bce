/** The code that each byte is compared as; negative when it is ignored. */
export type Alphabet = Int16Array;

const IGNORED = -1;

const alphabetOf = (normalized: (character: string) => string): Alphabet =>
  Int16Array.from({ length: 256 }, (_, byte) => {
    const code = normalized(String.fromCharCode(byte)).charCodeAt(0);
    return Number.isNaN(code) ? IGNORED : code;
  });

const lowerCase = (character: string): string => (/[A-Z]/.test(character) ? character.toLowerCase() : character);
/** Upper and lower case are the same. */
export const TEXT_ALPHABET: Alphabet = alphabetOf(lowerCase);
/** Base64 and base64url are also the same; line breaks, the commas of a list and the colons of a fingerprint are ignored. */
export const DIGIT_ALPHABET: Alphabet = alphabetOf((character) =>
  /[\t\n\r :,]/.test(character) ? "" : ({ "-": "+", _: "/" }[character] ?? lowerCase(character)),
);
