/** A response of the API. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test knows which body it expects. A wrong guess fails it.
  readonly body: any;
}

/** A request that takes longer fails. */
const TIMEOUT_MS = 20_000;

/** Sends a request with a workspace key. A string body is sent unchanged, anything else as JSON. */
export async function ask(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { "content-type": "application/json" }), ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await (isEndless(path, response.headers) ? firstOf(response) : response.text());
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return { status: response.status, headers: response.headers, text, body: isJson && text !== "" ? JSON.parse(text) : undefined };
}

/** Whether a response goes on until its reader leaves. */
export const isEndless = (path: string, headers: Headers): boolean =>
  path.startsWith("/v1/live") && (headers.get("content-type") ?? "").startsWith("text/event-stream");

/** The first part of a body. The reader leaves after it. */
async function firstOf({ body }: Response): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return first?.value ?? "";
}

/** Returns the body of a response. Throws if the response is not a success. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export function bodyOf(reply: Reply, method: string, path: string): any {
  if (reply.status >= 300) throw new Error(`${method} ${path} returned ${reply.status}: ${reply.text}`);
  return reply.body;
}
