import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const ENTRY = fileURLToPath(new URL("../../src/index.ts", import.meta.url));

/** The client with all that it imports, as one file. */
export async function bundleClient(): Promise<{ code: string; modules: string[]; imports: string[] }> {
  const bundled = await rolldown({ input: ENTRY, platform: "neutral", resolve: { conditionNames: ["source", "import", "default"] } });
  const { output } = await bundled.generate({ format: "esm", minify: true });
  await bundled.close();
  const [{ code, moduleIds, imports, dynamicImports }] = output;
  return { code, modules: moduleIds, imports: [...imports, ...dynamicImports] };
}
