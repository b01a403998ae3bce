export * from "./address-guard.ts";
export * from "./callback-url.ts";
export * from "./names/create-names.ts";
export * from "./names/hosts-in-use.ts";
export type { Names } from "./names/names.ts";
export type { Resolution } from "./names/resolution.ts";
export * from "./request.ts";
export * from "./send.ts";
export * from "./sign.ts";
