/** What came back of one request. */
export type Response =
  | { readonly kind: "answered"; readonly status: number; readonly headers: Headers; readonly body: Buffer | null }
  | { readonly kind: "failed"; readonly error: unknown };

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface Request {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** Most bytes of the answer's body that are kept; of a longer one nothing is. */
  readonly mostBodyBytes: number;
}

/** Ends a request whose answer is no longer wanted; it then answers `failed` with the reason given. */
export type Abort = (reason: Error) => void;
