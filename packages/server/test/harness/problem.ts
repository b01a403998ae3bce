import { NotFoundDetails } from "@tidemill/contract";
import { Value } from "typebox/value";
import type { Reply } from "./ask.ts";
import type { TestDatabase } from "./database.ts";
import { type RawRequest, sendRaw } from "./raw-request.ts";
import type { Service } from "./service.ts";

/** The HTTP status of each error code, from the contract's table (§1). */
export const STATUS = {
  VALIDATION_ERROR: 400,
  UNAUTHORIZED: 401,
  QUOTA_EXCEEDED: 402,
  PLAN_REQUIRED: 403,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  INVALID_STATE: 409,
  LEASE_LOST: 409,
  IDEMPOTENCY_MISMATCH: 422,
  PAYLOAD_TOO_LARGE: 413,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
  INTERNAL: 500,
} as const;

/** Lists how a response differs from an error with this code. Empty if the response is correct. */
export function faultsOf({ status, headers, text, body }: Reply, code: keyof typeof STATUS): string[] {
  const error = body?.error;
  const details = error?.details;
  const checks = {
    [`status ${status}`]: status === STATUS[code],
    [`content type ${headers.get("content-type")}`]: headers.get("content-type") === "application/json; charset=utf-8",
    "no X-Request-Id": /^req_\w+$/.test(headers.get("x-request-id") ?? ""),
    [`body ${text.slice(0, 300)}`]:
      fields(body) === "error" &&
      fields(error) === "code,details,message" &&
      error.code === code &&
      typeof error.message === "string" &&
      error.message !== "",
    "details are no object": typeof details === "object" && details !== null && !Array.isArray(details),
    [`details of NOT_FOUND ${JSON.stringify(details)}`]: code !== "NOT_FOUND" || Value.Check(NotFoundDetails, details),
    "no issues": code !== "VALIDATION_ERROR" || (Array.isArray(details?.issues) && details.issues.every(isIssue)),
  };
  return Object.entries(checks).flatMap(([fault, fine]) => (fine ? [] : [fault]));
}

const fields = (value: unknown): string => (typeof value === "object" && value !== null ? Object.keys(value).sort().join() : "");
const isIssue = (issue: { path: unknown; message: unknown }) =>
  fields(issue) === "message,path" && typeof issue.path === "string" && typeof issue.message === "string" && issue.message !== "";

/** Everything that tenants have stored: for each table the number of rows and a hash, without the time at which keys were last used. */
export async function everythingStored(database: TestDatabase): Promise<unknown> {
  const tables = [
    "workspace",
    "api_key",
    "queue",
    "secret",
    "circuit",
    "schedule",
    "schedule_skip",
    "schedule_tick",
    "job",
    "job_history",
    "idempotency_key",
    "batch_key",
    "workflow",
    "run",
    "run_step",
    "run_key",
    "run_unfit",
    "run_call",
    "signal",
    "audit_event",
    "quota_month",
    "deploy",
    "operation",
    "membership",
    "link",
    "webhook",
  ];
  const counts = tables.map(
    (name) => `select '${name}' as name, count(*)::int as rows, md5(string_agg(row, ' ' order by row)) as content
       from (select (to_jsonb(t) - 'last_used_at')::text as row from ${name} t) as stored`,
  );
  return database.query(counts.join(" union all "));
}

/** A request that must be refused. One issue of the error must have a path that begins with `names`, and a message with `says` in it. */
export interface Bad extends RawRequest {
  readonly names?: string;
  readonly says?: string;
}

/** Sends requests with the workspace's key. Returns what is wrong with their errors, and whether something was stored. */
export async function complaintsAbout(service: Service, code: keyof typeof STATUS, requests: readonly Bad[]): Promise<string[]> {
  if (requests.length === 0) throw new Error("There is nothing to refuse.");
  const before = await everythingStored(service.database);
  const complaints: string[] = [];
  for (const bad of requests) {
    const headers = {
      authorization: `Bearer ${service.key}`,
      ...(bad.body !== undefined && { "content-type": "application/json" }),
      ...bad.headers,
    };
    const reply = await sendRaw(service.node.url, { ...bad, headers });
    const faults = [
      ...faultsOf(reply, code),
      ...(names(reply, bad) ? [] : [`it does not say "${bad.names ?? ""} ${bad.says ?? ""}": ${reply.text.slice(0, 300)}`]),
    ];
    complaints.push(...faults.map((fault) => `${bad.method} ${bad.path.slice(0, 80)} ${String(bad.body ?? "").slice(0, 120)}: ${fault}`));
  }
  const after = await everythingStored(service.database);
  return JSON.stringify(after) === JSON.stringify(before) ? complaints : [...complaints, `stored: ${JSON.stringify({ before, after })}`];
}

function names({ body }: Reply, bad: Bad): boolean {
  if (bad.names === undefined && bad.says === undefined) return true;
  const issues = (body?.error?.details?.issues ?? []) as { path: string; message: string }[];
  return issues.some(({ path, message }) => path.startsWith(bad.names ?? "") && message.includes(bad.says ?? ""));
}
