import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import type { AddressInfo } from "node:net";

/** Addresses, or how else a question is answered. `truncated` says that the answer is too long for UDP. */
type Reply = readonly string[] | "absent" | "fails" | "silent" | "truncated";

interface Records {
  readonly a?: Reply;
  readonly aaaa?: Reply;
  readonly ttlSeconds?: number;
}

const CODES = { absent: 3, fails: 2, truncated: 0 } as const;
const TYPES: Record<number, "a" | "aaaa"> = { 1: "a", 28: "aaaa" };
const HEADER_BYTES = 12;

/** A name server over UDP on this machine. Names that a test did not give do not exist. */
export class TestNameServer {
  /** The questions that were asked, such as "a x.example". */
  readonly asked: string[] = [];
  readonly names = new Map<string, Records | Exclude<Reply, readonly string[]>>();
  /** Hundreds of questions come at once, while this process is busy with asking them. */
  readonly #socket: Socket = createSocket({ type: "udp4", recvBufferSize: 4 * 1024 * 1024 });

  static async listen(): Promise<TestNameServer> {
    const server = new TestNameServer();
    server.#socket.on("message", (message, from) => server.#answer(message, from));
    await new Promise<void>((resolve) => server.#socket.bind(0, "127.0.0.1", resolve));
    return server;
  }

  get address(): string {
    return `127.0.0.1:${(this.#socket.address() as AddressInfo).port}`;
  }

  /** The names that were asked for, each once. */
  get askedNames(): string[] {
    return [...new Set(this.asked.map((question) => question.replace(/^\S+ /, "")))];
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(resolve));
  }

  #answer(message: Buffer, from: RemoteInfo): void {
    const { name, type, end } = readQuestion(message);
    const family = TYPES[type];
    if (!family) return;
    this.asked.push(`${family} ${name}`);
    const records = this.names.get(name) ?? "absent";
    const reply = typeof records === "string" ? records : (records[family] ?? []);
    if (reply === "silent") return;
    const [flags, addresses] = typeof reply === "string" ? [CODES[reply] | (reply === "truncated" ? 0x0200 : 0), []] : [0, reply];
    const ttlSeconds = typeof records === "string" ? 0 : (records.ttlSeconds ?? 60);
    const header = Buffer.alloc(HEADER_BYTES);
    message.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | flags, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(addresses.length, 6);
    const answers = addresses.map((address) => recordOf(type, ttlSeconds, bytesOf(address)));
    this.#socket.send(Buffer.concat([header, message.subarray(HEADER_BYTES, end), ...answers]), from.port, from.address);
  }
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** A record of the name in the question. */
function recordOf(type: number, ttlSeconds: number, data: Buffer): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttlSeconds, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function bytesOf(address: string): Buffer {
  if (!address.includes(":")) return Buffer.from(address.split(".").map(Number));
  const [before = [], after = []] = address.split("::").map((half) => half.split(":").filter((word) => word !== ""));
  const words = [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
  return Buffer.from(words.map((word) => word.padStart(4, "0")).join(""), "hex");
}
