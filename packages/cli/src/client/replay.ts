import { type Tidemill, TidemillError } from "@tidemill/sdk";
import { EXIT_CODES } from "../exit-code.ts";
import { printRecord } from "../output/table.ts";
import type { JobAddress } from "./job-address.ts";

interface ReplayOptions {
  readonly to: string;
  readonly json?: boolean;
}

/** The longest that the service would wait for a handler. Milliseconds. */
const TIMEOUT_MS = 900_000;

/** `tidemill replay`: sends a job as its callback to another address. The exit code is 8 unless the response is a success. */
export async function replayTo(tidemill: Tidemill, { queue, id }: JobAddress, { to, json }: ReplayOptions): Promise<void> {
  const { headers, body } = await tidemill.queue(queue).jobs.replay(id);
  const startedMs = performance.now();
  const response = await send(to, headers, body);
  printRecord({ job: id, to, status: response.status, took_ms: Math.round(performance.now() - startedMs), body: response.text }, json);
  if (!response.ok) process.exitCode = EXIT_CODES.unsuccessful.code;
}

async function send(to: string, headers: Readonly<Record<string, string>>, body: string) {
  try {
    const response = await fetch(to, { method: "POST", headers, body, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: response.status, ok: response.ok, text: await response.text() };
  } catch (error) {
    const { cause } = error as { cause?: Error };
    const message = `No response from ${to}: ${cause?.message || (cause as NodeJS.ErrnoException | undefined)?.code || (error as Error).message}`;
    throw new TidemillError({ code: "NO_RESPONSE", message, cause: error });
  }
}
