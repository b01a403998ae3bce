import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { freeBody, receiveBody } from "../../src/http/receive-body.ts";

const LIMIT = 1024 * 1024;

/** Copies of a body's pieces of this many bytes. */
const piecesOf = (body: Buffer, pieceBytes: number): Buffer[] =>
  Array.from({ length: Math.ceil(body.length / pieceBytes) }, (_, index) => {
    const part = body.subarray(index * pieceBytes, (index + 1) * pieceBytes);
    const piece = Buffer.allocUnsafeSlow(part.length);
    part.copy(piece);
    return piece;
  });

/** Receives a body that comes in pieces of this many bytes. */
const receive = (body: Buffer, pieceBytes: number, announced = Number.NaN, pieces = piecesOf(body, pieceBytes)): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    receiveBody(Readable.from(pieces), { limit: LIMIT, announced }, (error, received) =>
      error ? reject(error) : resolve(received as Buffer),
    );
  });

const bodyOf = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, index) => index % 251));

test.each([0, 1, 65_536, 262_144, 262_145, 700_001, LIMIT])(
  "a body of %i bytes is received whole, in one piece or many, announced or not",
  async (length) => {
    const body = bodyOf(length);
    for (const pieceBytes of [length || 1, 65_536, 10_007]) {
      expect((await receive(body, pieceBytes)).equals(body)).toBe(true);
      expect((await receive(body, pieceBytes, length)).equals(body)).toBe(true);
    }
  },
);

test("a body over the limit is refused, announced or not", async () => {
  const refusal = { code: "PAYLOAD_TOO_LARGE", details: { limit_bytes: LIMIT } };
  await expect(receive(bodyOf(LIMIT + 1), 65_536)).rejects.toMatchObject(refusal);
  await expect(receive(bodyOf(10), 10, LIMIT + 1)).rejects.toMatchObject(refusal);
});

test("no more of a body is asked for once it is over the limit", async () => {
  let received = 0;
  const onPiece = (bytes: number) => {
    received += bytes;
  };
  const payload = Readable.from(piecesOf(bodyOf(LIMIT + 3 * 65_536), 65_536));
  const error = await new Promise((resolve) => receiveBody(payload, { limit: LIMIT, announced: Number.NaN, onPiece }, resolve));
  expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  expect(received).toBe(LIMIT);
});

test("the memory of a large body's pieces is given back, unless they share it with others", async () => {
  const body = bodyOf(700_001);
  const pieces = piecesOf(body, 65_536);
  const shared = body.subarray(65_536, 2 * 65_536);
  pieces[1] = shared;
  expect((await receive(body, 65_536, body.length, pieces)).equals(body)).toBe(true);
  expect(pieces.filter(({ length }) => length > 0)).toEqual([shared]);
});

test("a large body's memory can be given back", async () => {
  const large = await receive(bodyOf(500_000), 65_536);
  freeBody(large);
  expect(large).toHaveLength(0);
});
