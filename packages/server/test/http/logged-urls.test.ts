import { expect, test } from "vitest";
import { createApi } from "#http";
import { systemRandom } from "#kernel";

test("the log of a request that fails has no token of a link and no answer of an identity provider", async () => {
  const urls: unknown[] = [];
  const api = createApi({
    authenticator: {
      findPrincipal: async () => null,
      operatorToken: null,
      pages: { publicOrigin: null, authenticate: () => Promise.reject(), hold: () => Promise.reject() },
    },
    emit: (_event, fields) => urls.push((fields as { url?: string }).url),
    random: systemRandom,
  });
  const fail = () => {
    throw new Error("A fault.");
  };
  api.get("/dashboard/auth/links/:token", { config: { page: true } }, fail);
  api.get("/dashboard/auth/oidc/callback", { config: { page: true } }, fail);
  api.get("/dashboard/*", fail);
  api.get("/v1/jobs", fail);
  const headers = { host: "localhost" };
  const tried = [
    "/dashboard/auth/link%73/secret",
    "/dashboard/auth/oidc/callback?code=secret",
    "/dashboard/link/secret?a=b",
    "/v1/jobs?id=a",
  ];
  for (const url of tried) expect((await api.inject({ method: "GET", url, headers })).statusCode).toBe(500);
  expect(urls).toEqual(["/dashboard/auth/links/:token", "/dashboard/auth/oidc/callback", "/dashboard/link/…", "/v1/jobs?id=a"]);
  await api.close();
});
