import type { Writable } from "node:stream";
import { INT32_BYTES, NULL_LENGTH } from "./binary-format.ts";
import { LargeTexts, Pieces } from "./large-texts.ts";

const BIND = "B".charCodeAt(0);
const [TEXT, BINARY] = [0, 1];

/** A longer message is encoded and sent in pieces of this size. */
const PIECE_BYTES = 128 * 1024;
/** How long the event loop is held at a time to encode and send pieces. Milliseconds. */
const SLICE_MS = 2;

/** The message that gives a prepared statement its values, as pg makes it. */
export interface Bind {
  readonly portal?: string;
  readonly statement?: string;
  readonly values?: readonly unknown[];
  readonly valueMapper?: (value: unknown) => string | Buffer | null;
}

/** pg's connection, whose messages go through `_send`, except Flush and Terminate. None of our statements makes pg send a Flush. */
interface Connection {
  readonly stream: Writable;
  _send(message: Buffer): boolean;
}

/** Whether a message has large texts. */
export const isLarge = ({ values }: Bind): boolean => values?.some((value) => value instanceof LargeTexts) ?? false;

/** Encodes and sends large texts piece by piece. In one piece, 16 MB would hold the event loop for 40 ms. */
export const bindInPieces = (connection: Connection, bind: Bind): void => sendInPieces(connection, bindMessage(bind));

/**
 * Sends a message while the event loop does other things. What pg sends in the meantime follows it.
 *
 * @param pieces each is sent before the next one is requested. Null: time was spent without a piece
 */
function sendInPieces(connection: Connection, pieces: Iterator<Buffer | null, Buffer>): void {
  const { stream, _send: send } = connection;
  const following: Buffer[] = [];
  connection._send = (message) => following.push(message) > 0;
  let untilMs = performance.now() + SLICE_MS;
  const goOn = (): void => {
    untilMs = performance.now() + SLICE_MS;
    sendSome();
  };
  const sendSome = (): void => {
    while (performance.now() < untilMs) {
      // The connection was closed.
      if (!stream.writable) return;
      const { done, value } = pieces.next();
      if (done) {
        connection._send = send;
        for (const message of [value, ...following]) stream.write(message);
        return;
      }
      if (value) {
        stream.write(value, (error) => void (error ?? sendSome()));
        return;
      }
    }
    setImmediate(goOn);
  };
  sendSome();
}

/** A Bind message in pieces. Source: PostgreSQL, Message Formats. Results are requested as text. */
function bindMessage({ portal = "", statement = "", values = [], valueMapper = asText }: Bind): Iterator<Buffer | null, Buffer> {
  const mapped = values.map((value) => (value instanceof LargeTexts ? value : valueMapper(value)));
  const formats = mapped.map((value) => (typeof value === "string" || value === null ? TEXT : BINARY));
  const names = Buffer.from(`${portal}\0${statement}\0`);
  const before = Buffer.concat([names, int16s(formats.length, ...formats, formats.length)]);
  const parts = mapped.map((value) => (typeof value === "string" ? Buffer.from(value) : value));
  return inPieces(before, parts, int16s(1, TEXT));
}

function* inPieces(before: Buffer, values: readonly (LargeTexts | Buffer | null)[], after: Buffer): Generator<Buffer | null, Buffer> {
  let length = INT32_BYTES + before.length + after.length;
  const lengths: number[] = [];
  for (const value of values) {
    const bytes = value instanceof LargeTexts ? yield* value.measure() : value?.length;
    lengths.push(bytes ?? NULL_LENGTH);
    length += INT32_BYTES + (bytes ?? 0);
  }
  const pieces = new Pieces(Math.min(length + 1, PIECE_BYTES));
  yield* pieces.addBytes(Buffer.from([BIND]));
  yield* pieces.addInt32(length);
  yield* pieces.addBytes(before);
  for (const [index, value] of values.entries()) {
    yield* pieces.addInt32(lengths[index] ?? NULL_LENGTH);
    if (value instanceof LargeTexts) yield* value.encode(pieces);
    else if (value) yield* pieces.addBytes(value);
  }
  yield* pieces.addBytes(after);
  return pieces.rest;
}

const asText = (value: unknown): string | null => (value == null ? null : String(value));

function int16s(...values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeInt16BE(value, 2 * index);
  return bytes;
}
