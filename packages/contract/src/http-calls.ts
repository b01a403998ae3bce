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
        "Where it goes: http or https, without user and password. Its path and query may contain templates like `${{ secrets.NAME }}`.",
      examples: ["https://api.example.com/v1/charges"],
    }),
    method: Type.Optional(
      Type.Enum([...HTTP_METHODS], { title: "HttpMethod", description: "`POST` with a body, else `GET`, unless given." }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ format: "header-value", maxLength: LIMITS.callbackHeaderLength }), {
        propertyNames: { format: "http-header-name", maxLength: 256 },
        maxProperties: LIMITS.callbackHeaders,
        description: "Its headers. Their values may contain templates.",
        examples: [{ authorization: "Bearer ${{ secrets.API_KEY }}" }],
      }),
    ),
    body: Type.Optional(
      Type.Unknown({ description: "A text is sent as it is, any other value as JSON. Texts in it may contain templates." }),
    ),
    timeout: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.httpTimeoutMs,
        description: "How long one attempt may take. Milliseconds; 30,000 unless given.",
      }),
    ),
    attempts: Type.Optional({
      ...Attempts,
      title: "CallAttempts",
      description: "How often it is tried, the first time included. 3 unless given.",
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
