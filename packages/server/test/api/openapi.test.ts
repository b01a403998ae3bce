import { readFile } from "node:fs/promises";
import { Validator } from "@seriousme/openapi-schema-validator";
import { type RulesetDefinition, Spectral } from "@stoplight/spectral-core";
import { oas } from "@stoplight/spectral-rulesets";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { RouteOptions } from "fastify";
import { describe, expect } from "vitest";
import { FORMATS } from "../../src/http/formats.ts";
import { examplesOf, type Media, type Operation, operationsOf, pathOf, resolved, type Schema } from "../harness/api-doc.ts";
import { bareApi } from "../harness/bare-api.ts";
import { STATUS } from "../harness/problem.ts";
import { type Service, test } from "../harness/service.ts";

/** Strict: an unknown keyword or format is an error. */
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, formats: FORMATS });

/** The routes that a server really has, recorded while they are mounted. */
async function mountedRoutes(): Promise<string[]> {
  const mounted: RouteOptions[] = [];
  const api = await bareApi((route) => void mounted.push(route));
  await api.close();
  return mounted
    .filter(({ url, config }) => url.startsWith("/v1/") && config?.allow === undefined)
    .flatMap(({ url, method }) => [method].flat().map((one) => `${one} ${url.replace(/:(\w+)/g, "{$1}")}`))
    .filter((route) => !route.startsWith("HEAD "));
}

const mediaOf = ({ requestBody, responses }: Operation): [string, Media][] => [
  ...Object.entries(requestBody?.content ?? {}).map(([type, media]): [string, Media] => [`request ${type}`, media]),
  ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content).map(([type, media]): [string, Media] => [`${status} ${type}`, media]),
  ),
];

/** The errors and warnings of the `spectral:oas` rules for a document, each with its place. */
async function lint(document: object): Promise<string[]> {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [oas as RulesetDefinition] });
  const findings = await spectral.run(JSON.stringify(document));
  return findings.map(({ code, path, message }) => `${code} at ${path.join(".")}: ${message}`);
}

describe("GET /doc", () => {
  test("GET /doc is served to anyone, as JSON of OpenAPI 3.1", async ({ service }) => {
    const { status, headers, body } = await service.api("GET", "/doc", undefined, { authorization: "" });
    expect([status, headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    expect(body.openapi).toMatch(/^3\.1\.\d+$/);
  });

  test("GET /doc is valid by the official OpenAPI schema", async ({ service }) => {
    const { body } = await service.api("GET", "/doc");
    const validator = new Validator();
    expect(await validator.validate(body)).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
    delete body.info.title;
    expect(await validator.validate(body)).toMatchObject({ valid: false });
  });

  test("GET /doc has every /v1 route that the server has, and no other", async ({ service }) => {
    const documented = (await operationsOf(service)).map(({ method, path }) => `${method} ${path}`);
    expect(documented.length).toBeGreaterThan(0);
    expect(documented.sort()).toEqual((await mountedRoutes()).sort());
  });

  test("GET /doc has every route of the specification that the server has to have by now", async ({ service }) => {
    const documented = (await operationsOf(service)).map(({ method, path }) => `${method} ${path}`);
    expect(documented).toEqual(
      expect.arrayContaining([
        "GET /v1/queues",
        "POST /v1/queues",
        "GET /v1/queues/{name}",
        "PATCH /v1/queues/{name}",
        "DELETE /v1/queues/{name}",
        "POST /v1/queues/{name}/retry-all",
        "POST /v1/queues/{name}/jobs",
        "POST /v1/queues/{name}/jobs/batch",
        "GET /v1/queues/{name}/jobs",
        "GET /v1/queues/{name}/jobs/{id}",
        "DELETE /v1/queues/{name}/jobs/{id}",
        "GET /v1/queues/{name}/jobs/{id}/explain",
        "POST /v1/queues/{name}/jobs/{id}/retry",
        "GET /v1/approvals",
        "POST /v1/queues/{name}/jobs/{id}/approve",
        "POST /v1/queues/{name}/jobs/{id}/reject",
        "GET /v1/schedules",
        "POST /v1/schedules",
        "PATCH /v1/schedules/{name}/pause",
        "PATCH /v1/schedules/{name}/resume",
        "DELETE /v1/schedules/{name}",
        "GET /v1/dlq",
        "POST /v1/dlq/retry",
        "POST /v1/dlq/purge",
        "GET /v1/secrets",
        "POST /v1/secrets",
        "PATCH /v1/secrets/{name}",
        "DELETE /v1/secrets/{name}",
        "GET /v1/keys",
        "POST /v1/keys",
        "DELETE /v1/keys/{id}",
        "GET /v1/audit-events",
      ]),
    );
  });

  test("GET /doc is under 440 kB", async ({ service }) => {
    const { text } = await service.api("GET", "/doc");
    expect(Buffer.byteLength(text)).toBeLessThan(440_000);
  });

  test("GET /doc is the openapi.json of the repository", async ({ service }) => {
    const { body } = await service.api("GET", "/doc");
    expect(JSON.parse(await readFile(new URL("../../../../openapi.json", import.meta.url), "utf8"))).toEqual(body);
  });

  test("GET /doc passes the rules of spectral:oas without warnings", async ({ service }) => {
    const { body } = await service.api("GET", "/doc");
    expect(await lint(body)).toEqual([]);
    delete body.paths["/v1/queues"].get.description;
    expect(await lint(body)).toEqual([expect.stringContaining("operation-description at paths./v1/queues.get")]);
  });

  test("GET /doc is shown to people at /docs", async ({ service }) => {
    const { status, headers, text } = await service.api("GET", "/docs", undefined, { authorization: "" });
    expect([status, headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
    expect(text).toContain("swagger-ui");
  });
});

/** The routes that the table of docs/api.md has: "`GET`, `POST /v1/queues`" is two. */
async function documentedRoutes(): Promise<Set<string>> {
  const page = await readFile(new URL("../../../../docs/api.md", import.meta.url), "utf8");
  const cells = page.split("\n").flatMap((line) => (line.startsWith("| `") ? [line.split("|")[1] ?? ""] : []));
  return new Set(
    cells.flatMap((cell) => {
      const codes = [...cell.matchAll(/`([A-Z]+)(?: (\S+))?`/g)].map(([, method = "", path]) => ({ method, path }));
      return codes.flatMap(({ method, path }, at) => {
        const of = path ?? codes.slice(at).find((one) => one.path !== undefined)?.path;
        return of === undefined ? [] : [`${method} ${of.replace(/:\w+/g, "{}")}`];
      });
    }),
  );
}

test("docs/api.md names every route", async () => {
  const documented = await documentedRoutes();
  const missing = (await mountedRoutes()).filter((route) => !documented.has(route.replace(/\{\w+\}/g, "{}")));
  expect(missing).toEqual([]);
});

describe("every operation", () => {
  test("every operation has an id of its own, a summary, a description, a tag that is explained, and asks for a workspace key", async ({
    service,
  }) => {
    const { body } = await service.api("GET", "/doc");
    const explained = (body.tags as { name: string; description: string }[])
      .filter(({ description }) => description)
      .map(({ name }) => name);
    expect(body.components.securitySchemes).toMatchObject({ workspaceKey: { type: "http", scheme: "bearer" } });
    const operations = await operationsOf(service);
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
    for (const { id, summary, description, tags = [], security } of operations) {
      expect({ id, summary, description, tags: tags.length > 0 && tags.every((tag) => explained.includes(tag)), security }).toEqual({
        id: expect.stringMatching(/^[a-z][A-Za-z]+$/),
        summary: expect.stringMatching(/^\S.*\S$/),
        // One to four sentences.
        description: expect.stringMatching(/^[A-Z](?:[^.]|\.(?=\S))+\.(?: [A-Z`](?:[^.]|\.(?=\S))+\.){0,3}$/),
        tags: true,
        security: [{ workspaceKey: [] }],
      });
    }
  });

  test("every operation explains each parameter, with an example that fits", async ({ service }) => {
    for (const { id, path, parameters } of await operationsOf(service)) {
      expect([id, parameters.filter((one) => one.in === "path").map(({ name }) => name)]).toEqual([
        id,
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      ]);
      for (const { name, required, description, schema, example, ...parameter } of parameters) {
        expect([id, name, description]).toEqual([id, name, expect.stringMatching(/\S/)]);
        expect([id, name, ajv.validate(schema, example), ajv.errors]).toEqual([id, name, true, null]);
        if (parameter.in === "path") expect(required).toBe(true);
      }
    }
  });

  test("every operation has an example that fits for its body and for each answer's", async ({ service }) => {
    for (const operation of await operationsOf(service)) {
      for (const [where, media] of mediaOf(operation)) {
        for (const example of examplesOf(media)) {
          expect([operation.id, where, example]).toEqual([operation.id, where, expect.anything()]);
          expect([operation.id, where, ajv.validate(media.schema, example), ajv.errors]).toEqual([operation.id, where, true, null]);
        }
      }
    }
  });

  test("every operation says of each answer what it means, and that it carries X-Request-Id; only 204 has no body", async ({ service }) => {
    for (const { id, responses } of await operationsOf(service)) {
      for (const [status, { description, headers, content }] of Object.entries(responses)) {
        expect([id, status, description]).toEqual([id, status, expect.not.stringMatching(/^Default Response$|^\s*$/)]);
        expect([id, status, headers]).toEqual([id, status, expect.objectContaining({ "X-Request-Id": expect.anything() })]);
        expect([id, status, Object.keys(content ?? {})]).toEqual([
          id,
          status,
          status === "204"
            ? []
            : [["watchRun", "watchWorkspace"].includes(id) && status === "200" ? "text/event-stream" : "application/json"],
        ]);
      }
    }
  });

  test("every operation documents errors under the status of their code", async ({ service }) => {
    for (const { id, responses } of await operationsOf(service)) {
      for (const [status, { content }] of Object.entries(responses).filter(([one]) => Number(one) >= 400)) {
        const examples = examplesOf(content?.["application/json"] as Media) as { error: { code: keyof typeof STATUS } }[];
        expect([id, ...examples.map(({ error }) => String(STATUS[error.code]))]).toEqual([id, ...examples.map(() => status)]);
        expect(new Set(examples.map(({ error }) => error.code)).size).toBe(examples.length);
      }
    }
  });

  test("every operation documents what each can answer: malformed, no key, too many, a fault, no database; another role; too large where it has a body", async ({
    service,
  }) => {
    for (const { id, method, path, requestBody, responses } of await operationsOf(service)) {
      const needed = [
        "400",
        "401",
        // Keys of role `worker` do not read.
        "403",
        "429",
        "500",
        "503",
        ...(requestBody ? ["413"] : []),
        // What a PUT names need not be there.
        ...(path.includes("{") && method !== "PUT" ? ["404"] : []),
      ];
      expect([id, Object.keys(responses)]).toEqual([id, expect.arrayContaining(needed)]);
    }
  });

  test("every operation takes its own examples", async ({ service }) => {
    for (const operation of await operationsOf(service)) {
      const query = new URLSearchParams(
        operation.parameters
          // A cursor is good for the workspace that got it.
          .filter((one) => one.in === "query" && one.name !== "cursor")
          .map(({ name, example }): [string, string] => [name, String(example)]),
      );
      const { status, text } = await service.api(
        operation.method,
        `${pathOf(operation)}?${query}`,
        operation.requestBody?.content["application/json"]?.example,
      );
      expect([operation.id, status, text.slice(0, 200)]).toEqual([
        operation.id,
        // Keys may not add members.
        expect.toSatisfy((one: number) => one < 300 || one === (operation.id === "addMember" ? 403 : 404)),
        expect.anything(),
      ]);
    }
  });
});

describe("the parts of the document", () => {
  const documentOf = async (service: Service): Promise<Schema> => (await service.api("GET", "/doc")).body;

  /** The operations as they are served, with their references. */
  const unresolved = (document: Schema): (Operation & { operationId: string })[] =>
    Object.values(document.paths as Record<string, Record<string, Schema>>).flatMap((path) => Object.values(path));

  /** The inner schemas of a schema, as far as the next references. */
  const inner = ({ properties = {}, items, anyOf = [], additionalProperties }: Schema): Schema[] =>
    [...Object.values(properties), ...anyOf, items, additionalProperties]
      .filter((one) => typeof one === "object" && one !== null)
      .flatMap((one) => [one, ...inner(one)]);

  test("the parts of the document are named: bodies, parameters, headers and errors are there by reference", async ({ service }) => {
    const operations = unresolved(await documentOf(service));
    for (const { operationId, parameters = [], requestBody, responses } of operations) {
      const own = Object.entries(responses).flatMap(([status, response]) => (status < "400" ? [response] : []));
      const errors = Object.entries(responses).flatMap(([status, response]) => (status < "400" ? [] : [response]));
      const schemas = [requestBody, ...own].flatMap((one) => Object.values(one?.content ?? {}).map(({ schema }) => schema));
      const to = (kind: string) => ({ $ref: expect.stringMatching(`^#/components/${kind}/[A-Za-z-]+$`) });
      expect([operationId, schemas]).toEqual([operationId, schemas.map(() => to("schemas"))]);
      expect([operationId, parameters]).toEqual([operationId, parameters.map(() => to("parameters"))]);
      expect([operationId, errors]).toEqual([operationId, errors.map(() => to("responses"))]);
      const headers = own.flatMap((one) => Object.values(one.headers ?? {}));
      expect([operationId, headers.length > 0, headers]).toEqual([operationId, true, headers.map(() => to("headers"))]);
    }
  });

  test("the parts of the document are all used", async ({ service }) => {
    const document = await documentOf(service);
    const text = JSON.stringify(document);
    const { securitySchemes: _, ...components } = document.components as Record<string, Record<string, unknown>>;
    const refs = Object.entries(components).flatMap(([kind, parts]) => Object.keys(parts).map((name) => `"#/components/${kind}/${name}"`));
    expect(refs.length).toBeGreaterThan(100);
    expect(refs.filter((ref) => !text.includes(ref))).toEqual([]);
  });

  test("the parts of the document have no object inside that has fields and no name", async ({ service }) => {
    const { schemas } = (await documentOf(service)).components as { schemas: Record<string, Schema> };
    for (const [name, schema] of Object.entries(schemas)) {
      expect([name, inner(schema).filter(({ properties }) => properties)]).toEqual([name, []]);
    }
  });

  test("the parts of the document have no default, which a generated client would send with each change of a record", async ({
    service,
  }) => {
    const { schemas } = (await documentOf(service)).components as { schemas: Record<string, Schema> };
    for (const [name, schema] of Object.entries(schemas)) {
      expect([name, [schema, ...inner(schema)].filter((one) => "default" in one)]).toEqual([name, []]);
    }
  });

  test("the parts of the document are described: every schema and every field", async ({ service }) => {
    const document = await documentOf(service);
    for (const [name, schema] of Object.entries(document.components.schemas as Record<string, Schema>)) {
      expect([name, schema.description]).toEqual([name, expect.stringMatching(/\S/)]);
      for (const [field, property] of Object.entries(schema.properties ?? {})) {
        expect([name, field, resolved(document, property).description]).toEqual([name, field, expect.stringMatching(/\S/)]);
      }
    }
  });
});
