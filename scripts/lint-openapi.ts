import { type RulesetDefinition, Spectral } from "@stoplight/spectral-core";
import { oas } from "@stoplight/spectral-rulesets";

/** What the rules of `spectral:oas` find in an OpenAPI document: errors and warnings, each with its place. */
export async function lintOpenApi(document: object): Promise<string[]> {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [oas as RulesetDefinition] });
  const findings = await spectral.run(JSON.parse(JSON.stringify(document)));
  return findings.map(({ code, path, message }) => `${code} at ${path.join(".")}: ${message}`);
}
