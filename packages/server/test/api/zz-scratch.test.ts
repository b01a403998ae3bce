import { test } from "../harness/service.ts";
import { exchange, speak } from "../harness/exchange.ts";
test("probe", async ({ service }) => {
  const q = await service.queue();
  const auth = { authorization: `Bearer ${service.key}` };
  const json = { ...auth, "content-type": "application/json" };
  const show = async (label: string, p: Promise<any>) => {
    try { const r = await p; console.log(label, "->", r.status, r.text.slice(0, 300), [...r.headers].filter(([k]) => !/date|keep-alive|content-length/.test(k)).map(([k, v]) => `${k}=${v}`).join("; ")); }
    catch (e) { console.log(label, "-> ERR", String(e)); }
  };
  const ex = (method: string, path: string, body?: any, headers: any = body === undefined ? auth : json) => exchange(service.node.url, { method, path, headers, ...(body !== undefined && { body }) });
  for (const m of ["TRACE", "PROPFIND", "QUERY", "HEAD", "OPTIONS", "PUT", "LOCK"]) await show(m, ex(m, "/v1/queues"));
  for (const p of ["/v1/queues/", "/v1/queues//jobs", `/v1/queues/${"x".repeat(129)}`, `/v1/queues/${"x".repeat(600)}`, "/v1/queues/a%00b", "/v1/queues/%ff", "/v1/queues/%zz", "/v1/queues/a%2Fb", "/v1/queues/%ED%A0%80", "/v1/nope", "/v1/queues?limit=0x10", "/v1/queues?limit=1e1", "/v1/queues?limit=%205", "/v1/queues?limit=", "/v1/queues?limit=1&limit=2", "/v1/queues?cursor=", "/v1/queues?__proto__=1", "/v1/queues?cursr=a", "/v1/dlq?tag=%00", "/v1/dlq?queue=%00", "/v1/dlq?queue=a%ED%A0%80", `/v1/queues/${q}/jobs?tag=%00`, `/v1/queues/${q}/jobs?tag=%ff`, `/v1/queues/${q}/jobs?state=waiting&state=failed`, `/v1/queues/${q}/jobs?state=nope`, `/v1/queues/${q}/jobs?state=`, `/v1/queues/${q}/jobs?tag=`, `/v1/queues/${q}/jobs/job_1`, `/v1/queues/${q}/jobs/${"x".repeat(600)}`, "*", "http://x/v1/queues"]) await show(p.slice(0, 60), ex("GET", p));
  const post: [string, any][] = [
    [`/v1/queues/${q}/retry-all`, '{"tag":"\\u0000"}'], ["/v1/dlq/retry", '{"tag":"\\u0000"}'], ["/v1/dlq/purge", '{"queue":"\\u0000"}'], ["/v1/dlq/retry", '{"queue":"\\ud800"}'], ["/v1/dlq/retry", '{"tag":"\\ud800"}'],
    [`/v1/queues/${q}/jobs`, '{"payload":1,"priority":1e400}'], [`/v1/queues/${q}/jobs`, '{"payload":1,"priority":9223372036854775808}'], [`/v1/queues/${q}/jobs`, '{"payload":1,"priority":"1"}'],
    [`/v1/queues/${q}/jobs`, '{"payload":1,"tag":"a","tag":7}'], [`/v1/queues/${q}/jobs`, '{"payload":1,"__proto__":{}}'], [`/v1/queues/${q}/jobs`, '{"payload":1,"constructor":{"prototype":{}}}'], [`/v1/queues/${q}/jobs`, '{"payload":1,"toString":1}'],
    [`/v1/queues/${q}/jobs`, '\ufeff{"payload":1}'], [`/v1/queues/${q}/jobs`, '   '], [`/v1/queues/${q}/jobs`, ''], [`/v1/queues/${q}/jobs`, `{"payload":${"[".repeat(65)}${"]".repeat(65)}}`],
    [`/v1/queues/${q}/jobs`, '{"payload":1,"delay":1.5}'], [`/v1/queues/${q}/jobs`, '{"payload":1,"delay":1,"run_at":"2026-11-21T12:00:00Z"}'], [`/v1/queues/${q}/jobs`, '{"payload":1,"run_at":"2030-11-21T12:00:00Z"}'], [`/v1/queues/${q}/jobs`, '{"payload":1,"run_at":"2026-02-30T12:00:00Z"}'],
    [`/v1/queues/${q}/jobs/batch`, '{"jobs":[{"payload":1},{"payld":1}]}'], [`/v1/queues/${q}/jobs/batch`, '[]'], [`/v1/queues/${q}/jobs/batch`, '7'], [`/v1/queues/${q}/jobs/batch`, '{"jobs":7}'], [`/v1/queues/${q}/jobs/batch`, '[{"payload":1,"tag":1},{"payload":1,"tag":1}]'],
    ["/v1/queues", '{"name":"a\\u0000"}'], ["/v1/queues", '{"name":"a","callback_headers":{"host":"x"}}'], ["/v1/queues", '{"name":"a","callback_headers":{"x":"\\u0000"}}'], ["/v1/queues", '{"name":"a","callback_headers":{"":"x"}}'], ["/v1/queues", '{"name":"a","callback_url":"ftp://x"}'], ["/v1/queues", '{"nmae":"a"}'], ["/v1/queues", '{"name":"a","defaultJobOptions":{"backoff":{"delya":1}}}'],
    [`/v1/queues/${q}/jobs/job_01kajv3k4ve6nsd9z5kgtzx0rw/retry`, '{"x":1}'], [`/v1/queues/${q}/jobs/job_01kajv3k4ve6nsd9z5kgtzx0rw/retry`, '{'],
  ];
  for (const [p, b] of post) await show(`${p.slice(0, 40)} ${b.slice(0, 60)}`, ex("POST", p, b));
  await show("no ct", ex("POST", "/v1/queues", '{"name":"x"}', auth));
  await show("text ct", ex("POST", "/v1/queues", '{"name":"x"}', { ...auth, "content-type": "text/plain" }));
  await show("bad ct", ex("POST", "/v1/queues", '{"name":"x"}', { ...auth, "content-type": "/////" }));
  await show("utf16 ct", ex("POST", "/v1/queues", '{"name":"x16"}', { ...auth, "content-type": "application/json; charset=utf-16" }));
  await show("bad utf8", ex("POST", "/v1/queues", Buffer.from('{"name":"x\xff"}', "latin1")));
  await show("DELETE w/ json ct", ex("DELETE", `/v1/queues/absent`, "", json));
  await show("DELETE w/ body", ex("DELETE", `/v1/queues/absent`, '{"a":1}', json));
  await show("GET w/ body", ex("GET", `/v1/queues/${q}`, '{"a"', json));
  await show("2MiB", ex("POST", "/v1/queues", Buffer.alloc(2 * 1024 * 1024 + 1, 32)));
  await show("2MiB chunked", ex("POST", "/v1/queues", Buffer.alloc(2 * 1024 * 1024 + 1, 32), { ...json, "transfer-encoding": "chunked" }));
  await show("16MiB", ex("POST", `/v1/queues/${q}/jobs/batch`, Buffer.alloc(16 * 1024 * 1024 + 1, 32)));
  await show("40MiB chunked", ex("POST", `/v1/queues/${q}/jobs/batch`, Buffer.alloc(40 * 1024 * 1024 + 1, 32), { ...json, "transfer-encoding": "chunked" }));
  await show("1MiB payload", ex("POST", `/v1/queues/${q}/jobs`, `{"payload":"${"x".repeat(1024 * 1024)}"}`));
  const head = `Host: x\r\nAuthorization: Bearer ${service.key}\r\n`;
  for (const [label, bytes] of Object.entries({
    "garbage": "hello\r\n\r\n", "no host": `GET /v1/queues HTTP/1.1\r\nAuthorization: Bearer ${service.key}\r\n\r\n`, "http/9": `GET /v1/queues HTTP/9.1\r\n${head}\r\n`,
    "NUL path": `GET /v1/queues/a\0b HTTP/1.1\r\n${head}Connection: close\r\n\r\n`, "raw utf8 path": `GET /v1/queues/é HTTP/1.1\r\n${head}Connection: close\r\n\r\n`, "big header": `GET /v1/queues HTTP/1.1\r\n${head}X: ${"x".repeat(20000)}\r\n\r\n`,
    "big url": `GET /v1/queues/${"x".repeat(20000)} HTTP/1.1\r\n${head}\r\n`, "many headers": `GET /v1/queues HTTP/1.1\r\n${head}${Array.from({ length: 3000 }, (_, i) => `a${i}: 1\r\n`).join("")}Connection: close\r\n\r\n`,
    "CL huge": `POST /v1/queues HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n{}`, "CL neg": `POST /v1/queues HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: -1\r\n\r\n{}`,
    "CL 2^53": `POST /v1/queues HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 9007199254740993\r\n\r\n{}`, "CL text": `POST /v1/queues HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: abc\r\n\r\n{}`,
    "CL twice": `POST /v1/queues HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, "CL+TE": `POST /v1/queues HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
    "bad chunk": `POST /v1/queues HTTP/1.1\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`, "expect": `POST /v1/queues HTTP/1.1\r\n${head}Expect: tea\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    "http1.0": `GET /v1/queues HTTP/1.0\r\nAuthorization: Bearer ${service.key}\r\n\r\n`, "hdr injection": `GET /v1/queues HTTP/1.1\r\n${head}X Y: 1\r\n\r\n`, "hdr NUL": `GET /v1/queues HTTP/1.1\r\n${head}X-Y: a\0b\r\n\r\n`, "te gzip": `POST /v1/queues HTTP/1.1\r\n${head}Transfer-Encoding: gzip\r\n\r\n{}`, "upgrade": `GET /v1/queues HTTP/1.1\r\n${head}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n`, "connect": `CONNECT x:80 HTTP/1.1\r\n${head}\r\n`, "OPTIONS *": `OPTIONS * HTTP/1.1\r\n${head}Connection: close\r\n\r\n`
  })) await show(label, Promise.race([speak(service.node.url, bytes), new Promise((_, no) => setTimeout(() => no("hangs"), 1500))]));
  await show("short body then end", Promise.race([speak(service.node.url, `POST /v1/queues HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{"name":`, { thenEnd: true }), new Promise((_, no) => setTimeout(() => no("hangs"), 1500))]));
});
