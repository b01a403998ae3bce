import type { Reply } from "./ask.ts";
import { sendRaw } from "./raw-request.ts";
import type { Service } from "./service.ts";

/** The operator token of the nodes in tests. */
export const OPERATOR_TOKEN = "the-operators-own-token";

/** Sends a request to the operator API on the internal listener. */
export function operate(
  service: Service,
  method: string,
  path: string,
  body?: unknown,
  token: string | null = OPERATOR_TOKEN,
): Promise<Reply> {
  return sendRaw(service.node.internalUrl, {
    method,
    path,
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

/** Creates an API key for the service's workspace. Returns the key's text. */
export async function makeKey(
  service: Service,
  key: { role?: string; queues?: string[]; workflows?: string[]; expires_at?: string | null } = {},
): Promise<string> {
  const { status, text, body } = await operate(service, "POST", `/admin/v1/workspaces/${service.workspaceId}/keys`, {
    name: "A key",
    ...key,
  });
  if (status !== 201) throw new Error(`The operator API returned ${status}: ${text}`);
  return body.key;
}

/** The parts of a response that can be compared with another one: all but the request id and the date. */
export const comparable = ({ status, headers, text }: Reply): unknown => ({
  status,
  headers: [...headers].filter(([name]) => name !== "x-request-id" && name !== "date"),
  text,
});
