/** A number from 0 to 1 that is the same for the same text. */
export function repeatableRandom(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

/** A UUID that is the same for the same text. */
export function repeatableUuid(text: string): string {
  const digits = Array.from({ length: 32 }, (_, at) => Math.floor(repeatableRandom(`${text}/${at}`) * 16).toString(16)).join("");
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`;
}
