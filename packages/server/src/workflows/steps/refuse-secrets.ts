import { LIMITS } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { runForRequest, workspaceOf } from "#http";
import { invalid, type Shares, type SlicedWork } from "#kernel";
import type { TextRedactor } from "#redaction";
import type { VerifiedReport } from "./report-steps.ts";

const RULE = "must not contain a secret of the run's input: give its template, like ${{ secrets.NAME }}, in its place";

/**
 * Refuses what a program passes on if it contains secrets of the run's input: these are never stored.
 *
 * @param fields by their paths in the request: texts, or JSON texts of `payload`
 * @throws VALIDATION_ERROR naming the field
 */
export function* refuseSecrets(
  fields: Readonly<Record<string, string>>,
  payload: Readonly<Record<string, string>>,
  redactor: TextRedactor | null,
): SlicedWork<void> {
  if (!redactor) return;
  for (const [path, text] of Object.entries(fields)) if ((yield* redactor.text(text)) !== text) throw invalid(path, RULE);
  for (const [path, json] of Object.entries(payload)) {
    if ((yield* redactor.json(json, LIMITS.payloadBytes)) !== json) throw invalid(path, RULE);
  }
}

/** Refuses secrets in a request of a program that executes a run. Searching for them takes long, however short a text is. */
export const refuserOf =
  ({ loopTime }: Pick<Shares, "loopTime">) =>
  async (
    request: FastifyRequest,
    verified: VerifiedReport | null,
    fields: Readonly<Record<string, string>>,
    payload: Readonly<Record<string, string>>,
  ): Promise<void> => {
    const redactor = verified?.redactor ?? null;
    if (!redactor) return;
    await runForRequest(loopTime, request, workspaceOf(request), Number.POSITIVE_INFINITY, refuseSecrets(fields, payload, redactor));
  };
