import { TemplateError } from "@tidemill/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCallbackUrl } from "#outbound";

const A = "${{ secrets.A }}";
const a = { secret: "A" };

test.each([
  ["https://example.com", "https://example.com", ["/"]],
  ["HTTP://EXAMPLE.com:80/a?b=c", "http://example.com", ["/a?b=c"]],
  [`https://example.com/${A}`, "https://example.com", ["/", a]],
  [`https://example.com/x/${A}/y?k=${A}&l=é`, "https://example.com", ["/x/", a, "/y?k=", a, "&l=%C3%A9"]],
  [`https://example.com/${A}${A}`, "https://example.com", ["/", a, a]],
  [`https://example.com:8443?${A}`, "https://example.com:8443", ["/?", a]],
  [`https://[2606:4700::1111]/./a/../${A}`, "https://[2606:4700::1111]", ["/", a]],
  [`https://example.com\\${A}`, "https://example.com", ["/", a]],
  [`https://example.com/@${A}:80`, "https://example.com", ["/@", a, ":80"]],
  ["https://example.com/${{secrets.LONG_NAME_2}}", "https://example.com", ["/", { secret: "LONG_NAME_2" }]],
  [`https://t0p.example.com/t0p${A}t1p`, "https://t0p.example.com", ["/t0p", a, "t1p"]],
])("a callback to %s goes to %s", (text, origin, path) => {
  expect(readCallbackUrl(text)).toEqual({ origin, hostname: new URL(origin).hostname, path });
});

describe("a template is refused", () => {
  test.each([
    ["for the whole address", A],
    ["in the scheme", `${A}://example.com/`],
    ["in the scheme", `http${A}://example.com/`],
    ["for the slashes", `https:${A}example.com/`],
    ["for the slashes", `https:/${A}/example.com/`],
    ["in the host", `https://${A}/`],
    ["in the host", `https://${A}`],
    ["in the host", `https://${A}.example.com/`],
    ["in the host", `https://example${A}.com/`],
    ["in the host", `https://example.com${A}/`],
    ["in the host", `https://é${A}.com/`],
    ["in the host", `https://[::${A}]/`],
    ["in the host", `https://127.0.0.${A}/`],
    ["in the host", `https://%3${A}/`],
    ["in the host that stands after three slashes", `https:///${A}/`],
    ["in the host that stands after a backslash", `https://\\${A}/`],
    ["in the port", `https://example.com:${A}/`],
    ["in the port", `https://example.com:8${A}/`],
    ["for the user", `https://${A}@example.com/`],
    ["for the password", `https://u:${A}@example.com/`],
    ["where the host would become the user", `https://example.com${A}@evil.example/`],
    ["in the fragment", `https://example.com/#${A}`],
    ["in a part of the path that is left again", `https://example.com/${A}/../x`],
    ["beside a user", `https://u@example.com/${A}`],
    ["beside a password", `https://:p@example.com/${A}`],
    ["beside a fragment", `https://example.com/${A}#x`],
    ["beside a space", `https://example.com/ ${A}`],
    ["beside a line break", `https://example.com/\n${A}`],
    ["under another scheme", `ftp://example.com/${A}`],
    ["under another scheme", `javascript:${A}`],
    ["under another namespace", "https://example.com/${{ env.A }}"],
    ["without its end", "https://example.com/${{ secrets.A }"],
    ["without a name", "https://example.com/${{ secrets. }}"],
  ])("a template is refused %s: %s", (_, text) => {
    expect(() => readCallbackUrl(text)).toThrow(TemplateError);
  });
});

test("no value of a secret has a say in where the callback goes, wherever its template stands", () => {
  const piece = fc.constantFrom(
    "http",
    "https",
    ":",
    "/",
    "//",
    "\\",
    "@",
    "?",
    "#",
    ".",
    "..",
    "[",
    "]",
    "%",
    "a",
    "t0p",
    "80",
    "x.example",
    A,
  );
  const value = fc.constantFrom(
    "",
    "/",
    "@",
    ":",
    "\\",
    "?",
    "#",
    ".evil.example",
    "@evil.example",
    "//evil.example/",
    ":1",
    "..",
    "%",
    "x",
  );
  let read = 0;
  const property = fc.property(
    fc.constantFrom("", "http://", "https://h"),
    fc.array(piece, { maxLength: 8 }),
    value,
    (start, pieces, secret) => {
      const text = [start, ...pieces].join("");
      try {
        expect(URL.parse(text.replaceAll(A, secret))?.origin).toBe(readCallbackUrl(text).origin);
        read += 1;
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
      }
    },
  );
  fc.assert(property, { numRuns: 5_000 });
  expect(read).toBeGreaterThan(100);
});
