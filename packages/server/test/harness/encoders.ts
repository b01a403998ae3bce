/** Every UTF-16 unit, written by `written`. */
const units = (text: string, written: (code: number) => string): string =>
  Array.from({ length: text.length }, (_, at) => written(text.charCodeAt(at))).join("");
const bytes = (text: string, written: (byte: number) => string, between = ""): string =>
  Array.from(Buffer.from(text), (byte) => written(byte)).join(between);
const hex = (code: number, digits = 2): string => code.toString(16).padStart(digits, "0");
const inner = (json: string): string => json.slice(1, -1);
const strict = (text: string): string => encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${hex(character.charCodeAt(0))}`);
const base64 = (text: string, encoding: BufferEncoding = "utf8"): string => Buffer.from(text, encoding).toString("base64");
const lines = (text: string, width: number): string => text.replace(new RegExp(`.{${width}}`, "g"), "$&\r\n");

const HTML_NAMES: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "#39" };
const html = (text: string): string => text.replace(/[&<>"']/g, (character) => `&${HTML_NAMES[character]};`);
const quotedPrintable = (text: string): string => {
  const escaped = bytes(text, (byte) =>
    byte > 32 && byte < 127 && byte !== 61 ? String.fromCharCode(byte) : `=${hex(byte).toUpperCase()}`,
  );
  return (escaped.match(/(?:=..|.){1,20}/g) ?? []).join("=\r\n");
};

/** The ways in which programs encode a text. Each follows its own definition, and none uses code of the product. */
export const ENCODERS: Readonly<Record<string, (value: string) => string>> = {
  "as it is": (value) => value,
  "upper case": (value) => value.replace(/[a-z]/g, (letter) => letter.toUpperCase()),
  JSON: (value) => inner(JSON.stringify(value)),
  "JSON in JSON": (value) => inner(JSON.stringify(JSON.stringify(value))),
  "JSON with \\/": (value) => inner(JSON.stringify(value)).replaceAll("/", "\\/"),
  "JSON in ASCII": (value) => inner(JSON.stringify(value)).replace(/[^\0-\x7e]/g, (unit) => `\\u${hex(unit.charCodeAt(0), 4)}`),
  "JSON all escaped": (value) => units(value, (code) => `\\u${hex(code, 4)}`),
  encodeURIComponent,
  encodeURI,
  form: (value) => new URLSearchParams([["", value]]).toString().slice(1),
  "RFC 3986": strict,
  "every byte percent-encoded": (value) => bytes(value, (byte) => `%${hex(byte)}`),
  "a URL in a URL": (value) => encodeURIComponent(encodeURIComponent(value)),
  "a URL in JSON": (value) => inner(JSON.stringify(encodeURI(value))),
  "JSON in a URL": (value) => encodeURIComponent(JSON.stringify(value)),
  base64,
  "base64 after one byte": (value) => base64(`x${value}`),
  "base64 after two bytes": (value) => base64(`xy${value}z`),
  "base64 without padding": (value) => base64(value).replaceAll("=", ""),
  base64url: (value) => Buffer.from(value).toString("base64url"),
  "base64 of JSON": (value) => base64(JSON.stringify({ value })),
  "base64 in a URL": (value) => encodeURIComponent(base64(value)),
  "base64 of UTF-16LE": (value) => base64(value, "utf16le"),
  "base64 in lines": (value) => lines(base64(value), 16),
  "base64 in lines in JSON": (value) => inner(JSON.stringify(lines(base64(value), 16))),
  hex: (value) => Buffer.from(value).toString("hex"),
  "HEX-WITH-DASHES": (value) => bytes(value, hex, "-").toUpperCase(),
  "HEX:WITH:COLONS": (value) => bytes(value, hex, ":").toUpperCase(),
  "hex with spaces": (value) => bytes(value, hex, " "),
  "hex with \\x": (value) => bytes(value, (byte) => `\\x${hex(byte)}`),
  "hex with 0x": (value) => bytes(value, (byte) => `0x${hex(byte)}`, ", "),
  "bytes in decimal": (value) => JSON.stringify([...Buffer.from(value)]),
  octal: (value) => bytes(value, (byte) => `\\${byte.toString(8).padStart(3, "0")}`),
  html,
  "HTML in decimal": (value) => Array.from(value, (character) => `&#${character.codePointAt(0)};`).join(""),
  "HTML in hex": (value) => Array.from(value, (character) => `&#x${hex(character.codePointAt(0) as number)};`).join(""),
  "HTML in JSON": (value) => inner(JSON.stringify(html(value))),
  "quoted-printable": quotedPrintable,
  "a shell's quotes": (value) => value.replaceAll("'", "'\\''"),
  "a shell's double quotes": (value) => value.replace(/["$`\\]/g, "\\$&"),
  "SQL's quotes": (value) => value.replaceAll("'", "''"),
  "CSV's quotes": (value) => value.replaceAll('"', '""'),
  "UTF-8 read as Latin-1": (value) => Buffer.from(value).toString("latin1"),
};
