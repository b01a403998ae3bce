export * from "./address-guard.ts";
export * from "./request.ts";
export * from "./send.ts";
export * from "./sign.ts";
