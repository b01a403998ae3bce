import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { InvalidSignatureError, verifyCallback } from "@tidemill/sdk";
import { endWithOutput } from "../output/lost-output.ts";
import { styled } from "../output/styled.ts";
import { printable, printJson, printJsonLine, showCell, writeLine } from "../output/table.ts";
import { parseExactly } from "../parse-exactly.ts";

export interface ReceiverOptions {
  readonly secret?: readonly string[] | string;
  readonly port: number;
  readonly host: string;
  readonly status: number;
  readonly json?: boolean;
}

/** Larger than any callback. Bytes. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

type Verdict = "valid" | "invalid" | "not checked";

/**
 * `tidemill dev`: prints each callback that arrives, and whether its signature is right. It ends with the process, or when its output
 * cannot be written.
 */
export async function receive({ secret, port, host, status, json }: ReceiverOptions): Promise<void> {
  const secrets = [secret ?? []].flat().filter((one) => one !== "");
  const server = createServer((request, response) => void answer(request, response));
  server.listen(port, host);
  await once(server, "listening").catch(({ message }: Error) => {
    throw new Error(`dev cannot listen: ${message}. --port and --host choose another address.`);
  });
  endWithOutput();
  const { port: bound } = server.address() as AddressInfo;
  const address = `http://${host.includes(":") ? `[${host}]` : host}:${bound}/`;
  if (json) printJsonLine({ listening: address });
  else {
    writeLine(`Listening on ${address}. To send callbacks here: tidemill queue update QUEUE --callback-url ${address}`);
    if (secrets.length === 0)
      writeLine("Signatures are not checked: give the queue's callback secret with --secret or TIDEMILL_CALLBACK_SECRET.");
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    if (body === null) return void response.writeHead(413).end();
    const { verdict, why } = await verify(request, body, secrets);
    response.writeHead(verdict === "invalid" ? 401 : status, { "content-type": "application/json" }).end("{}");
    show({ request, body, verdict, why, json });
  }
}

/** Null when it is too large or does not arrive completely. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) return null;
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks);
}

async function verify({ headers }: IncomingMessage, body: Buffer, secrets: readonly string[]): Promise<{ verdict: Verdict; why: string }> {
  if (secrets.length === 0) return { verdict: "not checked", why: "" };
  try {
    await verifyCallback({ headers, body }, secrets);
    return { verdict: "valid", why: "" };
  } catch (error) {
    return { verdict: "invalid", why: error instanceof InvalidSignatureError ? error.message : "The body is not JSON." };
  }
}

interface Received {
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly verdict: Verdict;
  readonly why: string;
  readonly json: boolean | undefined;
}

function show({ request, body, verdict, why, json }: Received): void {
  const text = body.toString("utf8");
  const parsed = parse(text);
  if (json) printJsonLine({ method: request.method, url: request.url, headers: request.headers, signature: verdict, body: parsed ?? text });
  else showText({ request, text, parsed, verdict, why });
}

interface Shown extends Pick<Received, "request" | "verdict" | "why"> {
  readonly text: string;
  readonly parsed: object | null;
}

function showText({ request, text, parsed, verdict, why }: Shown): void {
  const signature = styled(verdict === "valid" ? "green" : verdict === "invalid" ? "red" : "yellow", `signature ${verdict}`);
  writeLine("");
  writeLine(`${printable(`${request.method} ${request.url}`)}  ${signature}${why === "" ? "" : `: ${why}`}`);
  if (parsed === null) writeLine(printable(text));
  else {
    const { id, queue, attempt, attempts, payload = null } = parsed as Record<string, unknown>;
    writeLine(printable(`${showCell(queue)}  ${showCell(id)}  attempt ${showCell(attempt)} of ${showCell(attempts)}`));
    printJson(payload);
  }
}

function parse(text: string): object | null {
  try {
    const value = parseExactly(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
