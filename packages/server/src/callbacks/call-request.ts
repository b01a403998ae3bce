import { LIMITS, parseTemplates, type TemplatePart } from "@tidemill/contract";
import type { SlicedWork } from "#kernel";
import { fillPayload, type PayloadTemplate, parsePayload, secretNamesIn, TemplateFiller, unencoded } from "#vault";
import type { CallPayload } from "#workflows";
import { placed, RequestContentError } from "./request-content-error.ts";
import { fillTarget, readTarget } from "./request-target.ts";

/** The parts of a call's request that may contain secrets. */
export interface CallContent {
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** A call's request before its secrets are filled in. */
export interface CallTemplates {
  readonly origin: string;
  readonly host: string;
  /** Names of the secrets. */
  readonly secrets: readonly string[];
  /** @param values the values of these secrets, by name */
  fill(values: ReadonlyMap<string, string>): SlicedWork<CallContent>;
}

/** The template of a body: none, a text that is sent as it is, or JSON. */
type BodyTemplate = { readonly text: readonly TemplatePart[] } | { readonly json: PayloadTemplate } | null;

/**
 * Reads the templates of a call.
 *
 * @throws {RequestContentError} when one is invalid, or they name too many secrets
 */
export function* readCallTemplates({ request }: CallPayload): SlicedWork<CallTemplates> {
  const target = readTarget("url", request.url, request.headers);
  const body = yield* bodyTemplateOf(request.body);
  const ofBody = body === null ? [] : "text" in body ? [body.text] : body.json.strings;
  const secrets = [...new Set([...target.secrets, ...secretNamesIn(ofBody)])];
  if (secrets.length > LIMITS.callbackSecrets) throw new RequestContentError(`The call names more than ${LIMITS.callbackSecrets} secrets.`);
  return {
    origin: target.origin,
    host: target.host,
    secrets,
    *fill(values) {
      const filler = new TemplateFiller(values);
      return {
        ...fillTarget("url", target, filler),
        body: yield* fillBody(body, filler),
      };
    },
  };
}

function* bodyTemplateOf(body: unknown): SlicedWork<BodyTemplate> {
  if (body === undefined) return null;
  try {
    return typeof body === "string" ? { text: parseTemplates(body) } : { json: yield* parsePayload(JSON.stringify(body), "body") };
  } catch (error) {
    throw placed("body", error);
  }
}

function* fillBody(body: BodyTemplate, filler: TemplateFiller): SlicedWork<string | null> {
  if (body === null) return null;
  try {
    return "text" in body ? filler.fill(body.text, unencoded) : yield* fillPayload(body.json, filler);
  } catch (error) {
    throw placed("body", error);
  }
}

/** The headers of a call. Its own headers take precedence. */
export function callHeaders(own: Readonly<Record<string, string>>, { idempotencyKey, request: { body } }: CallPayload, version: string) {
  const given = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const contentType = typeof body === "string" ? "text/plain; charset=utf-8" : "application/json";
  const usual = {
    "user-agent": `Tidemill/${version}`,
    "idempotency-key": idempotencyKey,
    ...(body !== undefined && { "content-type": contentType }),
  };
  return { ...Object.fromEntries(Object.entries(usual).filter(([name]) => !given.has(name))), ...own };
}
