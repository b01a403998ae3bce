export * from "./callbacks.ts";
export { CallbackTimeoutError, classify } from "./classify.ts";
export { mapValues } from "./endpoint.ts";
export { PostponedReports } from "./postponed-reports.ts";
export { POSTPONE_MS, postponementOf } from "./postponement.ts";
export { headerOf, pathOf } from "./request-content.ts";
export { RequestContentError, withPlace } from "./request-content-error.ts";
export { signedHeaders } from "./signed-request.ts";
