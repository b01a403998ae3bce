export * from "./callbacks.ts";
export { CallbackTimeoutError, classify } from "./classify.ts";
export { POSTPONE_MS, postponementOf } from "./postponement.ts";
export { signedHeaders } from "./signed-request.ts";
