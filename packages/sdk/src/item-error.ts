import { TidemillError, type TidemillErrorCode } from "./error.ts";

/** What the response to a call says about one of the items that it refuses. Older services give no details. */
interface Refused {
  readonly code: string | null;
  readonly message: string | null;
  readonly details?: unknown;
}

const STATUS: Readonly<Record<string, number>> = { QUOTA_EXCEEDED: 402, LEASE_LOST: 409, PAYLOAD_TOO_LARGE: 413 };

/** The error of an item that is refused beside others: the one that it would have got alone. Undefined: the response does not have it. */
export function itemError(refused: Refused | undefined): TidemillError {
  const { code, message, details } = refused ?? {};
  return new TidemillError({
    code: (code ?? "UNEXPECTED_RESPONSE") as TidemillErrorCode,
    message: message ?? "The response did not come from Tidemill: fields are missing.",
    status: STATUS[code ?? ""] ?? 400,
    details: (details ?? {}) as Readonly<Record<string, unknown>>,
  });
}
