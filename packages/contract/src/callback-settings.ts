import { Type } from "typebox";
import { LIMITS } from "./limits.ts";

/** Where callbacks or events are sent. */
export const CallbackUrl = Type.String({
  format: "callback-url",
  maxLength: LIMITS.callbackUrlLength,
  description:
    "The address: http or https, without user and password. Its path and query may contain templates like `${{ secrets.NAME }}`.",
  examples: ["https://example.com/tidemill"],
});

/** Headers that are sent with callbacks or events. */
export const CallbackHeaders = Type.Record(Type.String(), Type.String({ format: "header-value", maxLength: LIMITS.callbackHeaderLength }), {
  propertyNames: { format: "callback-header-name", maxLength: LIMITS.callbackHeaderNameLength },
  maxProperties: LIMITS.callbackHeaders,
  description: "Headers sent with each request. Their values may contain templates like `${{ secrets.NAME }}`.",
  examples: [{ "x-team": "billing" }],
});
