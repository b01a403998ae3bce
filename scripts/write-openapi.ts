import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { bareApi } from "../packages/server/test/harness/bare-api.ts";

/** Writes the document of `GET /doc` to openapi.json. With `--check` it writes nothing, and fails if the file differs. */

const FILE = fileURLToPath(new URL("../openapi.json", import.meta.url));

async function servedDocument(): Promise<object> {
  const api = await bareApi();
  const response = await api.inject("/doc");
  await api.close();
  if (response.statusCode !== 200) throw new Error(`GET /doc returned ${response.statusCode}: ${response.body}`);
  return response.json();
}

const fresh = `${JSON.stringify(await servedDocument(), null, 2)}\n`;
if (!process.argv.includes("--check")) {
  await writeFile(FILE, fresh);
  process.stdout.write("Wrote openapi.json.\n");
} else if (fresh !== (await readFile(FILE, "utf8").catch(() => null))) {
  process.stderr.write("openapi.json is out of date. Run: npm run openapi\n");
  process.exit(1);
}
