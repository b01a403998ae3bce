export * from "./address-guard.ts";
export * from "./send.ts";
export * from "./sign.ts";
