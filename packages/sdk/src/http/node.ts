/** The parts of Node that are used to send requests. The client has no types of Node, and imports nothing of it. */

/** A `Buffer`. */
export interface Bytes extends Uint8Array {
  indexOf(byte: number, from?: number): number;
  toString(encoding?: "latin1" | "utf8", start?: number, end?: number): string;
  subarray(start?: number, end?: number): Bytes;
}

/** A socket of `node:net` or `node:tls`. */
export interface Socket {
  /** Bytes that wait until the system takes them. */
  readonly writableLength: number;
  setNoDelay(isOn: boolean): void;
  setKeepAlive(isOn: boolean, firstProbeMs: number): void;
  ref(): void;
  unref(): void;
  write(text: string): void;
  destroy(): void;
  on(event: "data", listener: (bytes: Bytes) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "connect" | "secureConnect" | "end" | "close", listener: () => void): void;
}

/** A channel of `node:diagnostics_channel`. */
interface Channel {
  readonly hasSubscribers: boolean;
}

export interface NodeModules {
  readonly "node:net": {
    connect(options: { host: string; port: number }): Socket;
    isIP(host: string): number;
  };
  readonly "node:tls": {
    connect(options: { host: string; port: number; servername?: string; ALPNProtocols: readonly string[] }): Socket;
  };
  /** The global agent may be one of another package, without options. */
  readonly "node:http": { readonly globalAgent: { readonly options?: { readonly proxyEnv?: unknown } }; readonly Agent: object };
  readonly "node:buffer": { readonly Buffer: { byteLength(text: string): number } };
  readonly "node:diagnostics_channel": { channel(name: string): Channel };
}

/** Whether this is the `fetch` of Node, and no wrapper of it. Node loads its implementation in this function. */
export const isNodeFetch = (fetch: typeof globalThis.fetch): boolean =>
  Function.prototype.toString.call(fetch).includes("internal/deps/undici");

interface Host {
  readonly process?: { getBuiltinModule?(name: string): unknown };
  readonly navigator?: { readonly userAgent?: string };
  readonly Bun?: unknown;
  readonly Deno?: unknown;
}

/** A module of Node. Undefined on other runtimes, and on versions of Node without `getBuiltinModule`. */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] | undefined {
  const { process, navigator, Bun, Deno } = globalThis as Host;
  const isNode = Bun === undefined && Deno === undefined && (navigator?.userAgent?.startsWith("Node.js/") ?? true);
  return isNode ? (process?.getBuiltinModule?.(name) as NodeModules[Name] | undefined) : undefined;
}
