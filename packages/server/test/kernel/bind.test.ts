import { Duplex } from "node:stream";
import { describe, expect } from "vitest";
import { binaryTextArray, rows, sql } from "#kernel";
import { Client } from "../../src/kernel/database/client.ts";
import { test } from "../harness/engine.ts";

describe("a statement with large values", () => {
  test("a large value reaches the database beside values of every other kind, also the second time", async ({ engine }) => {
    const large = Array.from({ length: 600 }, (_, index) => `${index} é🌊 ${"x".repeat(1_000)}`);
    const read = () =>
      rows(
        engine,
        sql`
          select ${"é"}::text as text, ${null}::text as nothing, ${""}::text as empty, ${7}::int as number, ${true}::boolean as yes,
            ${binaryTextArray(large)}::text[] as large, ${Buffer.from("ab")}::bytea as bytes, ${binaryTextArray(large.toReversed())}::text[] as other`,
      );
    const values = {
      text: "é",
      nothing: null,
      empty: "",
      number: 7,
      yes: true,
      large,
      bytes: Buffer.from("ab"),
      other: large.toReversed(),
    };
    expect(await read()).toEqual([values]);
    expect(await read()).toEqual([values]);
  });

  test("a statement that fails with a large value leaves its connection usable", async ({ engine }) => {
    const large = binaryTextArray(Array(300).fill("x".repeat(1_000)));
    await expect(rows(engine, sql`select ${large}::text[] as large, 1 / ${0}::int as failed`)).rejects.toThrow("division by zero");
    expect(await rows(engine, sql`select cardinality(${large}::text[]) as count`)).toEqual([{ count: 300 }]);
  });

  test("texts of every length reach the database, wherever a piece of the message ends", async ({ engine }) => {
    const pieceBytes = 128 * 1024;
    for (const shift of [0, 1, 2, 3, 4, 5]) {
      const large = ["x".repeat(shift), "🌊".repeat(pieceBytes), null, "", "é".repeat(pieceBytes - shift), "中", null];
      expect(await rows(engine, sql`select ${binaryTextArray(large)}::text[] as large, ${shift}::int as number`)).toEqual([
        { large, number: shift },
      ]);
    }
  });

  test("a large value is encoded piece by piece, as the connection takes it; what follows it waits", async () => {
    const socket = new Socket();
    const { connection } = new Client({ stream: () => socket } as object) as unknown as { connection: Sender };
    connection.bind({ statement: "name", values: [binaryTextArray(Array(300).fill("x".repeat(10_000))), 7] });
    connection.execute({});
    connection.sync();
    expect(socket.taken).toHaveLength(0);
    let pieces = 0;
    while (!Buffer.concat(socket.taken).toString("latin1").endsWith("S\0\0\0\x04")) {
      await socket.takeOne();
      pieces += 1;
    }
    expect(pieces).toBeGreaterThan(20);
    expect(Math.max(...socket.taken.map(({ length }) => length))).toBeLessThanOrEqual(128 * 1024);
    const sent = Buffer.concat(socket.taken);
    const bind = sent.subarray(0, 1 + sent.readInt32BE(1));
    expect(bind.toString("latin1", 0, 1)).toBe("B");
    expect(bind.toString("latin1").split("x".repeat(10_000))).toHaveLength(301);
    expect(sent.toString("latin1", bind.length, bind.length + 1)).toBe("E");
  });

  test("a connection that closes while a large value is sent takes no more of it", async () => {
    const socket = new Socket();
    const { connection } = new Client({ stream: () => socket } as object) as unknown as { connection: Sender };
    connection.bind({ statement: "name", values: [binaryTextArray(Array(300).fill("x".repeat(10_000)))] });
    await socket.takeOne();
    socket.destroy();
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(socket.taken).toHaveLength(1);
  });
});

interface Sender {
  bind(message: object): void;
  execute(message: object): void;
  sync(): void;
}

/** A connection to a server that takes a piece when the test says so. */
class Socket extends Duplex {
  readonly taken: Buffer[] = [];
  #waiting: (() => void) | null = null;
  #arrived = () => {};

  override _read(): void {}

  override _write(piece: Buffer, _encoding: string, done: () => void): void {
    this.#waiting = () => {
      this.taken.push(Buffer.from(piece));
      done();
    };
    this.#arrived();
  }

  async takeOne(): Promise<void> {
    if (!this.#waiting) await new Promise<void>((resolve) => (this.#arrived = resolve));
    const take = this.#waiting;
    this.#waiting = null;
    take?.();
  }
}
