import { test } from "../harness/service.ts";
import { Browser, newPerson } from "../harness/people.ts";
import { startTestNode, newWorkspace, Service } from "../harness/service.ts";
test("try", async ({ service, database, clock }) => {
  const out: unknown[] = [];
  const p = await newPerson(service, { role: "admin" });
  const ws = service.workspaceId;
  const other = await newWorkspace(database);
  const oid = other.id;
  const none = "ws_01kajv3k4ve6nsd9z5kgtzx0rw";
  const routes: [string, string, unknown?][] = [
    ["GET", "/v1/live"], ["GET", "/v1/webhooks"], ["POST", "/v1/webhooks", {}], ["GET", "/v1/webhooks/a/deliveries"], ["GET", "/v1/operations"], ["POST", "/v1/jobs/remove", { filter: {} }], ["GET", "/v1/metrics"], ["GET", "/v1/dlq/groups"], ["GET", "/v1/members"], ["GET", "/v1/nothing"], ["PUT", "/v1/jobs"], ["GET", "/v1/../../admin/v1/workspaces"], ["GET", "/v1/%2e%2e/admin/v1/workspaces"], ["POST", "/v1/jobs/remove", "x".repeat(3_000_000)],
  ];
  for (const [m, path, body] of routes) {
    const a = await p.api(oid, m, path, body);
    const b = await p.api(none, m, path, body);
    const norm = (r: any) => JSON.stringify([r.status, r.body]).replaceAll(oid, "X").replaceAll(none, "X");
    out.push([m, path, a.status, norm(a) === norm(b) ? "same" : [norm(a), norm(b)]]);
  }
  for (const path of ["/admin/v1/workspaces", "/dashboard/api/admin/v1/../v1/workspaces", "/dashboard/api/admin/v1/workspaces", "/dashboard/api/ADMIN/v1/workspaces", `/dashboard/api/${ws}/v1/../../../admin/v1/workspaces`, `/dashboard/api/${ws}/v1//admin/v1/workspaces`, `/dashboard/api/${ws}/healthz`, `/dashboard/api/${ws}/doc`, "/dashboard/api", "/dashboard/link/x", "/dashboard//evil.example", "/dashboard", "/dashboard/auth/nothing", "/dashboard/auth/links/x"]) {
    const r = await p.send("GET", path);
    out.push([path, r.status, r.headers.get("location"), JSON.stringify(r.body).slice(0, 90)]);
  }
  // cookies
  const two = new Browser(service.node.url, `tidemill_session=bad; ${p.cookie}`);
  out.push(["two cookies", (await two.auth("GET", "session")).body.person]);
  for (const [k, v] of Object.entries({ a: "\u0000", b: "a".repeat(300) })) out.push([k, (await p.auth("PATCH", "profile", { name: v })).status]);
  out.push(["oidc-less start", (await p.auth("GET", "oidc/start")).status]);
  out.push(["link", (await p.auth("POST", "links/" + "a".repeat(600), {})).status]);
  out.push(["passkey", (await p.auth("POST", "passkeys/sign-in", { response: { id: "a\u0000", rawId: "a", response: {}, type: "public-key", clientExtensionResults: {} } })).status, (await p.auth("POST", "passkeys/sign-in", { response: { id: "a\u0000", rawId: "a" } }, {host: "localhost"})).status]);
  out.push(["sign-in nul", (await p.auth("POST", "sign-in", { email: "a\u0000@b.c", password: "x" })).status, (await p.auth("POST", "reset", { email: "a\u0000@b.c" })).status, (await p.auth("POST", "sign-in", { email: "a@b.c\ud800", password: "\ud800" })).status]);
  out.push(["confirm nul", (await p.auth("POST", "confirm", { code: "\u0000" })).status]);
  out.push(["ua", (await new Browser(service.node.url).auth("POST", "sign-in", { email: p.email, password: "correct horse battery staple" }, { "user-agent": "\x80\xff" })).status]);
  const del = await p.api(ws, "DELETE", `/v1/members/${p.id}`);
  out.push(["last admin", del.status]);
  for (const o of out) console.log(JSON.stringify(o));
  void clock; void Service; void startTestNode;
});
