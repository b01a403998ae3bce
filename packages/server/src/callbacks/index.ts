export * from "./callbacks.ts";
export { CallbackTimeoutError, classify, isLookupNotRun, isShortage } from "./classify.ts";
export { signedHeaders } from "./signed-request.ts";
