/** The result of one request: a response, or the error that prevented one. `unsent`: for certain, no byte of the request was sent. */
export type Response =
  | { readonly kind: "responded"; readonly status: number; readonly headers: Headers; readonly body: Buffer | null }
  | { readonly kind: "failed"; readonly error: unknown; readonly unsent?: true };

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface Request {
  /** Default: `POST`. */
  readonly method?: string;
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
  /** A response body of up to this many bytes is kept. A longer one becomes null. */
  readonly maxBodyBytes: number;
  /** Called with the length of the body so far, when more memory is needed for it. An error that it returns ends the request. */
  readonly onLength?: (bytes: number) => Error | null;
}

/** Ends a request whose response is no longer needed. Its result is then `failed`, with the given reason as the error. */
export type Abort = (reason: Error) => void;
