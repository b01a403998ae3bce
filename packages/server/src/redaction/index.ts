export * from "./keep-result.ts";
export * from "./redact.ts";
export { FormCache, type KnownForms } from "./value-forms.ts";
