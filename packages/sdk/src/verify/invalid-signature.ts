import { CALLBACK_HEADERS } from "@tidemill/contract/signing";
import type { SignatureFault } from "./signature.ts";

/** Names of the headers that a signature needs. */
interface SignatureHeaders {
  readonly timestamp: string;
  readonly signature: string;
  readonly jobId?: string;
  readonly id?: string;
}

const FAULTS: Readonly<Record<SignatureFault, (headers: SignatureHeaders) => string>> = {
  missing_header: ({ jobId, id = jobId, timestamp, signature }) =>
    `A ${jobId ? "callback" : "webhook"} has the headers ${id}, ${timestamp} and ${signature}.`,
  timestamp_out_of_range: ({ timestamp }) => `${timestamp} is not within 300 seconds of this machine's clock.`,
  wrong_signature: ({ signature }) => `${signature} was not made with this secret and this body.`,
};

/** The request is not a genuine callback or event. Respond with 401 and do nothing else. */
export class InvalidSignatureError extends Error {
  override readonly name = "InvalidSignatureError";
  readonly reason: SignatureFault;

  constructor(reason: SignatureFault, headers: SignatureHeaders = CALLBACK_HEADERS) {
    super(FAULTS[reason](headers));
    this.reason = reason;
  }
}
