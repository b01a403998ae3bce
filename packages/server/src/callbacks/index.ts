export * from "./callbacks.ts";
export { CallbackTimeoutError, classify } from "./classify.ts";
export { PostponedReports } from "./postponed-reports.ts";
export { POSTPONE_MS, postponementOf } from "./postponement.ts";
export { RequestContentError } from "./request-content-error.ts";
export { fillTarget, type RequestTarget, readTarget } from "./request-target.ts";
export { signedHeaders } from "./signed-request.ts";
