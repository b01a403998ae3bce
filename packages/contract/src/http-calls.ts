import { type Static, Type } from "typebox";
import { Attempts, Backoff } from "./jobs.ts";
import { LIMITS } from "./limits.ts";

export const HTTP_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

/** A call that the service makes for a step of a run. Source: contract §11, `step.http`; docs/run-protocol.md. */
export const HttpCall = Type.Object(
  {
    url: Type.String({
      format: "callback-url",
      maxLength: LIMITS.callbackUrlLength,
      description:
        "Address of the call: http or https, without user and password. Its path and query may contain templates like `${{ secrets.NAME }}`.",
      examples: ["https://api.example.com/v1/charges"],
    }),
    method: Type.Optional(
      Type.Enum([...HTTP_METHODS], { title: "HttpMethod", description: "Default: `POST` with a body, otherwise `GET`." }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ format: "header-value", maxLength: LIMITS.callbackHeaderLength }), {
        propertyNames: { format: "http-header-name", maxLength: LIMITS.callbackHeaderNameLength },
        maxProperties: LIMITS.callbackHeaders,
        description: "Its headers. Their values may contain templates.",
        examples: [{ authorization: "Bearer ${{ secrets.API_KEY }}" }],
      }),
    ),
    body: Type.Optional(
      Type.Unknown({ description: "A string is sent as it is, any other value as JSON. Strings in it may contain templates." }),
    ),
    timeout: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.httpTimeoutMs,
        description: "How long one attempt may take. Milliseconds. Default: 30,000.",
      }),
    ),
    attempts: Type.Optional({
      ...Attempts,
      title: "CallAttempts",
      description: "How often it is tried, the first time included. Default: 3.",
    }),
    backoff: Type.Optional(Backoff),
  },
  {
    title: "HttpCall",
    description: "An HTTP call that the service makes for a step.",
    additionalProperties: false,
    examples: [
      {
        url: "https://api.example.com/v1/charges",
        method: "POST",
        headers: { authorization: "Bearer ${{ secrets.API_KEY }}" },
        body: { amount: 4200 },
        timeout: 10_000,
        attempts: 5,
        backoff: { delay: 1_000 },
      },
    ],
  },
);
export type HttpCall = Static<typeof HttpCall>;
