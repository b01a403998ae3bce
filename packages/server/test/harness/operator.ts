import type { Reply } from "./ask.ts";
import { sendRaw } from "./raw-request.ts";
import type { Service } from "./service.ts";

/** The operator's token of nodes that tests start. */
export const OPERATOR_TOKEN = "the-operators-own-token";

/** Sends a request to the operator API, on the internal listener. */
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

/** Makes a key of the service's workspace. Answers its text. */
export async function makeKey(service: Service, key: { role?: string; expires_at?: string | null } = {}): Promise<string> {
  const { status, text, body } = await operate(service, "POST", `/admin/v1/workspaces/${service.workspaceId}/keys`, {
    name: "A key",
    ...key,
  });
  if (status !== 201) throw new Error(`The operator API answered ${status}: ${text}`);
  return body.key;
}

/** What of a reply another one can be compared with: all but its id and its time. */
export const comparable = ({ status, headers, text }: Reply): unknown => ({
  status,
  headers: [...headers].filter(([name]) => name !== "x-request-id" && name !== "date"),
  text,
});
