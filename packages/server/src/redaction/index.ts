export { FormCache } from "./form-cache.ts";
export * from "./keep-result.ts";
export * from "./redact.ts";
export type { KnownForms } from "./value-forms.ts";
