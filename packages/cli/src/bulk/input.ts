import { createReadStream, statSync } from "node:fs";

/** The input of a command: a file, or the standard input. */
export interface Input {
  readonly chunks: AsyncGenerator<Uint8Array>;
  /** How much has been read, and the total; null if the total is not known. */
  readonly bytes: { read: number; readonly total: number | null };
  close(): void;
}

/** @throws when the file does not exist or is a directory */
export function openInput({ file }: { readonly file?: string }): Input {
  const bytes = { read: 0, total: file === undefined ? null : sizeOf(file) };
  const stream = file === undefined ? process.stdin : createReadStream(file);
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      bytes.read += chunk.length;
      yield chunk;
    }
  }
  return { chunks: read(), bytes, close: () => stream.destroy() };
}

/** Null for an input without a size, such as a pipe. */
function sizeOf(file: string): number | null {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) throw new Error(`There is no file "${file}".`);
  if (stats.isDirectory()) throw new Error(`"${file}" is a directory.`);
  return stats.isFile() ? stats.size : null;
}

/** The same items. @throws the signal's reason when it is aborted, even while it waits for an item */
export async function* untilAborted<Item>(items: AsyncGenerator<Item>, signal: AbortSignal): AsyncGenerator<Item> {
  for (;;) {
    const next = await orAborted(items.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}

/** A race with one promise for the whole input would keep all of its items in memory: each race leaves its result at that promise. */
function orAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
