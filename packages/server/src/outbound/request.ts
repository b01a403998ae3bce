/** The result of one request: a response, or the error that prevented one. */
export type Response =
  | { readonly kind: "responded"; readonly status: number; readonly headers: Headers; readonly body: Buffer | null }
  | { readonly kind: "failed"; readonly error: unknown };

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface Request {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** A response body of up to this many bytes is kept. A longer one becomes null. */
  readonly maxBodyBytes: number;
}

/** Ends a request whose response is no longer needed. Its result is then `failed`, with the given reason as the error. */
export type Abort = (reason: Error) => void;
