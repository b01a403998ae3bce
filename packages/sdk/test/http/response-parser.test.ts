import { describe, expect, test } from "vitest";
import type { Bytes } from "../../src/http/node.ts";
import { ResponseParser } from "../../src/http/response-parser.ts";

const bytesOf = (text: string): Bytes => Buffer.from(text) as unknown as Bytes;

/** Reads a response in two pieces. What comes after its end is counted. */
function readInTwo(text: string, cut: number) {
  const whole = Buffer.from(text);
  const parser = new ResponseParser();
  const pieces = [whole.subarray(0, cut), whole.subarray(cut)].filter(({ length }) => length > 0) as unknown as Bytes[];
  const isWhole = pieces.map((piece) => parser.read(piece));
  return { parser, isWhole: isWhole.at(-1) === true, early: isWhole.slice(0, -1).includes(true) };
}

const WITH_LENGTH = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\nX-Some:  a b \r\n\r\nZoë 🌊 here";

describe("a response is read in whatever pieces it comes", () => {
  const chunks = ["Zo", "ë 🌊", " here"]
    .map((text) => `${Buffer.byteLength(text).toString(16).padStart(20, "0")};name=value\r\n${text}\r\n`)
    .join("");
  test.for([
    ["with a length", WITH_LENGTH],
    ["in chunks", `HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\nx-some: a b\r\n\r\n${chunks}0\r\ntrailer: x\r\n\r\n`],
    ["after others", `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nx-some: no\r\n\r\n${WITH_LENGTH}`],
  ] as const)("%s", ([, text]) => {
    for (let cut = 1; cut <= Buffer.byteLength(text); cut += 1) {
      const { parser, isWhole, early } = readInTwo(text, cut);
      expect([cut, isWhole, early]).toEqual([cut, true, false]);
      expect(parser.response).toMatchObject({ status: 200, ok: true, body: "Zoë 🌊 here" });
      expect(parser.response.headers.get("x-some")).toBe("a b");
      expect(parser.keepsOpen).toBe(true);
    }
  });

  test("byte by byte", () => {
    const parser = new ResponseParser();
    const whole = [...Buffer.from(WITH_LENGTH)].map((byte) => parser.read(Buffer.of(byte) as unknown as Bytes));
    expect(whole.indexOf(true)).toBe(whole.length - 1);
    expect(parser.response.body).toBe("Zoë 🌊 here");
  });

  test("until the connection ends, if nothing says how long it is", () => {
    const { parser, isWhole } = readInTwo("HTTP/1.1 200 OK\r\n\r\nZoë 🌊", 24);
    expect([isWhole, parser.end(), parser.keepsOpen]).toEqual([false, true, false]);
    expect(parser.response.body).toBe("Zoë 🌊");
  });

  test.for([204, 304])("without a body, by its status: %i", (status) => {
    const { parser, isWhole } = readInTwo(`HTTP/1.1 ${status} Some words\r\ncontent-length: 5\r\n\r\n`, 10);
    expect([isWhole, parser.response.status, parser.response.body, parser.keepsOpen]).toEqual([true, status, "", true]);
  });
});

test("of headers with the same name the first counts, and names have no case", () => {
  const { parser } = readInTwo("HTTP/1.1 404 \r\nA: 1\r\nb:\r\na: 2\r\ncontent-length: 0\r\n\r\n", 5);
  expect(parser.response).toMatchObject({ status: 404, ok: false });
  expect(["a", "b", "c"].map((name) => parser.response.headers.get(name))).toEqual(["1", "", null]);
});

describe("the connection is used again", () => {
  test.for([
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", true, Number.POSITIVE_INFINITY],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Keep-Alive\r\nKeep-Alive: timeout=72, max=5\r\n\r\n", true, 71_000],
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: x, Close\r\n\r\n", false, Number.POSITIVE_INFINITY],
    ["HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", false, Number.POSITIVE_INFINITY],
    // Nobody has asked for these bytes.
    ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\n", false, Number.POSITIVE_INFINITY],
  ] as const)("%j: %s", ([text, keepsOpen, idleMs]) => {
    const { parser, isWhole } = readInTwo(text, Buffer.byteLength(text));
    expect([isWhole, parser.keepsOpen, parser.idleMs]).toEqual([true, keepsOpen, idleMs]);
  });
});

describe("is no response", () => {
  test.for([
    "HTTP/2 200 OK\r\n\r\n",
    "SSH-2.0-OpenSSH_9.2\r\n",
    "H2",
    "\nHTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\ncontent-length: 0\n\n",
    "SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    "HTTP/1.1 200 OK\r\nspace before : x\r\n\r\n",
    "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx: a\nb\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\na\r\n",
    `HTTP/1.1 200 OK\r\nx: ${"x".repeat(70_000)}`,
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0;${"x".repeat(20_000)}`,
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"x: y\r\n".repeat(20_000)}`,
  ])("%.60j", (text) => {
    expect(() => new ResponseParser().read(bytesOf(text))).toThrow(Error);
  });

  test("what ends too early", () => {
    for (const text of ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na"]) {
      const parser = new ResponseParser();
      if (text !== "") parser.read(bytesOf(text));
      expect(parser.end()).toBe(false);
    }
  });
});
