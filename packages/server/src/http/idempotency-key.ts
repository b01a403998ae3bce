import { invalid } from "#kernel";

/** The header name as Node spells it. */
export const KEY_HEADER = "idempotency-key";

interface Request {
  readonly headers: Readonly<Record<string, unknown>>;
}

/** The header `Idempotency-Key`, which a schema has validated. */
export const keyHeaderOf = ({ headers }: Request): string | undefined => headers[KEY_HEADER] as string | undefined;

/**
 * The idempotency key of a request, which may stand in its body, in the header `Idempotency-Key`, or in both. Source: contract §1.
 *
 * @throws VALIDATION_ERROR when the two differ
 */
export function idempotencyKeyOf(request: Request, inBody: string | undefined): string | undefined {
  const header = keyHeaderOf(request);
  if (header !== undefined && inBody !== undefined && inBody !== header)
    throw invalid(KEY_HEADER, "must be the same as the body's idempotencyKey");
  return inBody ?? header;
}
