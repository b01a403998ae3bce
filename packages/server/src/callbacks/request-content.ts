import { LIMITS } from "@tidemill/contract";
import type { SlicedWork } from "#kernel";
import { fillPayload, type PayloadTemplate, parsePayload, secretNamesIn, TemplateFiller } from "#vault";
import type { CallbackEndpoint } from "./endpoint.ts";
import { placed, RequestContentError } from "./request-content-error.ts";
import { fillTarget } from "./request-target.ts";

/** The parts of a callback's request that may contain secrets. */
export interface RequestContent {
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly payload: string;
}

/** The templates of a callback's content, before their secrets are filled in. */
export interface ContentTemplates {
  /** Names of the secrets. */
  readonly secrets: readonly string[];
  /** @param values the values of these secrets, by name */
  fill(values: ReadonlyMap<string, string>): SlicedWork<RequestContent>;
}

/**
 * Reads the templates of an attempt.
 *
 * @throws {RequestContentError} when a payload that was stored before templates were checked has an invalid one, or when they name too many
 *   secrets
 */
export function* readTemplates(endpoint: CallbackEndpoint, payload: string): SlicedWork<ContentTemplates> {
  const template = yield* payloadTemplateOf(payload);
  const secrets = [...new Set([...endpoint.secrets, ...secretNamesIn(template.strings)])];
  if (secrets.length > LIMITS.callbackSecrets)
    throw new RequestContentError(`The callback names more than ${LIMITS.callbackSecrets} secrets.`);
  return {
    secrets,
    fill: (values) => fillContent(endpoint, template, new TemplateFiller(values)),
  };
}

function* payloadTemplateOf(payload: string): SlicedWork<PayloadTemplate> {
  try {
    return yield* parsePayload(payload);
  } catch (error) {
    throw placed("payload", error);
  }
}

/** @throws {RequestContentError} when a value does not fit into a path or header, or the values together are too large */
function* fillContent(endpoint: CallbackEndpoint, template: PayloadTemplate, filler: TemplateFiller): SlicedWork<RequestContent> {
  const { path, headers } = endpoint.plain ?? fillTarget("callback_url", endpoint, filler);
  try {
    return { path, headers, payload: yield* fillPayload(template, filler) };
  } catch (error) {
    throw placed("payload", error);
  }
}
