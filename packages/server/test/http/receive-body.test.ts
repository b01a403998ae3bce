import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { BodyMemory } from "../../src/http/body-memory.ts";
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
const receive = (
  body: Buffer,
  pieceBytes: number,
  { announced = Number.NaN, pieces = piecesOf(body, pieceBytes), memory = new BodyMemory(LIMIT) } = {},
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    receiveBody(Readable.from(pieces), { limit: LIMIT, announced, memory }, (error, received) =>
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
      expect((await receive(body, pieceBytes, { announced: length })).equals(body)).toBe(true);
    }
  },
);

test("a body over the limit is refused, announced or not", async () => {
  const refusal = { code: "PAYLOAD_TOO_LARGE", details: { limit_bytes: LIMIT } };
  await expect(receive(bodyOf(LIMIT + 1), 65_536)).rejects.toMatchObject(refusal);
  await expect(receive(bodyOf(10), 10, { announced: LIMIT + 1 })).rejects.toMatchObject(refusal);
});

test("no more of a body is asked for once it is over the limit", async () => {
  let received = 0;
  const onPiece = (bytes: number) => {
    received += bytes;
  };
  const payload = Readable.from(piecesOf(bodyOf(LIMIT + 3 * 65_536), 65_536));
  const error = await new Promise((resolve) =>
    receiveBody(payload, { limit: LIMIT, announced: Number.NaN, memory: new BodyMemory(LIMIT), onPiece }, resolve),
  );
  expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  expect(received).toBe(LIMIT);
});

test("the memory of a large body's pieces is released, unless they share it with others", async () => {
  const body = bodyOf(700_001);
  const pieces = piecesOf(body, 65_536);
  const shared = body.subarray(65_536, 2 * 65_536);
  pieces[1] = shared;
  expect((await receive(body, 65_536, { announced: body.length, pieces })).equals(body)).toBe(true);
  expect(pieces.filter(({ length }) => length > 0)).toEqual([shared]);
});

test("bodies that are received at once each have memory of their own, also if there is no room for all of them", async () => {
  const memory = new BodyMemory(4 * LIMIT);
  const bodies = Array.from({ length: 6 }, (_, index) => Buffer.alloc(LIMIT - index, index + 1));
  const received = await Promise.all(bodies.map((body) => receive(body, 65_536, { announced: body.length, memory })));
  expect(received.every((body, index) => body.equals(bodies[index] as Buffer))).toBe(true);
  const shared = received.filter(({ buffer }) => (buffer as unknown) instanceof SharedArrayBuffer);
  expect(shared).toHaveLength(4);
  for (const body of received) freeBody(body, memory);
  expect(received.filter((body) => body.length === 0)).toHaveLength(2);
});

test("memory that a body has released is where the next one is received, also if no body was in it meanwhile", async () => {
  const memory = new BodyMemory(4 * LIMIT);
  const bodies: Buffer[] = [];
  for (const [index, length] of [700_000, 300_000, 500_000].entries()) {
    const body = Buffer.alloc(length, index);
    const received = await receive(body, 65_536, { announced: length, memory });
    expect(received.equals(body)).toBe(true);
    bodies.push(received);
    if (index === 0) freeBody(received, memory);
  }
  const [first, second, third] = bodies;
  expect([second?.buffer === first?.buffer, third?.buffer === first?.buffer]).toEqual([true, true]);
  expect(second?.byteOffset).toBe(first?.byteOffset);
  // Beside the second one, which has kept its own.
  expect(third?.byteOffset).toBeGreaterThanOrEqual((second?.byteOffset ?? 0) + 300_000);
});

test.each(["destroyed", "destroyed with an error"])("a body whose connection is %s gives its memory back", async (end) => {
  const room = new BodyMemory(LIMIT);
  const payload = new Readable({ read() {} });
  const ended = new Promise((_, reject) => receiveBody(payload, { limit: LIMIT, announced: LIMIT, memory: room }, reject));
  payload.push(Buffer.alloc(300_000, 1));
  setImmediate(() => payload.destroy(end === "destroyed" ? undefined : new Error("reset")));
  await expect(ended).rejects.toThrow(end === "destroyed" ? "closed before" : "reset");
  expect((room.take(LIMIT).buffer as unknown) instanceof SharedArrayBuffer).toBe(true);
});
