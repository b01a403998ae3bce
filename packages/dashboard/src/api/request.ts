import { ApiError } from "./api-error.ts";
import { readJson } from "./read-json.ts";
import { writeJson } from "./write-json.ts";

/** `/dashboard/` as the browser sees it, with any prefix that a proxy has added. Scripts are in `assets` below it. */
export const ROOT = import.meta.env.PROD ? new URL(/* @vite-ignore */ "..", import.meta.url).pathname : "/dashboard/";

/** Timeout, because a dead connection would never end by itself. It is longer than any request takes. Milliseconds. */
const SILENT_MS = 60_000;

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

export interface RequestOptions {
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/**
 * Sends a request with the session's cookie. `path` begins below `/dashboard/`.
 *
 * @throws {ApiError}
 */
export async function request<T>(method: Method, path: string, { query, body, signal }: RequestOptions = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  // A page of another origin cannot send it.
  if (method !== "GET") headers["X-Tidemill-Dashboard"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = body === undefined ? null : writeJson(body);
  let response: Response;
  let text: string;
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(), SILENT_MS);
  try {
    response = await fetch(ROOT + path + search(query), {
      method,
      headers,
      credentials: "same-origin",
      redirect: "error",
      cache: "no-store",
      body: sent,
      signal: AbortSignal.any([silent.signal, ...(signal ? [signal] : [])]),
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    if (silent.signal.aborted) throw new ApiError("The service has not responded for a minute.", { status: 0, code: "SILENT" });
    throw new ApiError("The service cannot be reached.", { status: 0, code: "UNREACHABLE" });
  } finally {
    clearTimeout(timer);
  }
  if (!response.ok) throw problemOf(response, text);
  return (text === "" ? undefined : parse(response, text)) as T;
}

/** A query string. Empty values are left out, lists are joined by commas. */
export function search(query: Query = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const text = Array.isArray(value) ? value.join(",") : value === null || value === undefined ? "" : String(value);
    if (text !== "") given.set(name, text);
  }
  return given.size > 0 ? `?${given}` : "";
}

function parse(response: Response, text: string): unknown {
  try {
    return readJson(text);
  } catch {
    throw new ApiError("The response is not JSON.", { status: response.status, code: "BAD_RESPONSE", requestId: requestIdOf(response) });
  }
}

function problemOf(response: Response, text: string): ApiError {
  const { status } = response;
  const requestId = requestIdOf(response);
  const after = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfterSeconds = Number.isFinite(after) ? after : null;
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string; details: Record<string, unknown> } };
    return new ApiError(error.message, { status, code: error.code, details: error.details, requestId, retryAfterSeconds });
  } catch {
    return new ApiError(`The service responded with ${status}.`, { status, code: "BAD_RESPONSE", requestId, retryAfterSeconds });
  }
}

const requestIdOf = ({ headers }: Response): string | null => headers.get("x-request-id");
