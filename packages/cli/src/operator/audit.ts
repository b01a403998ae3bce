import { readFileSync } from "node:fs";
import { type ChainReport, type NotedHead, readWorkspaceId, verifyAuditAcrossWorkspaces, workspaceNotFound } from "@tidemill/server";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { printJson } from "../output/table.ts";
import { withDatabase } from "./with-database.ts";

/** The part of an earlier verification's `--json` output that `--noted` reads. */
const Noted = Type.Object({
  chains: Type.Array(Type.Object({ workspace: Type.String(), head: Type.Object({ seq: Type.Integer(), hash: Type.String() }) })),
});

/**
 * `tidemill audit verify`: verifies the audit logs of all workspaces, or of one, and reports the first broken event of each. The exit
 * code is 1 when a log is broken.
 */
export async function verifyAuditCommand(
  workspace: string | undefined,
  { json, noted }: { json?: boolean; noted?: string },
): Promise<void> {
  const only = workspace === undefined ? null : readWorkspaceId(workspace);
  if (workspace !== undefined && !only) throw new Error(`"${workspace}" is not the id of a workspace.`);
  const heads = noted === undefined ? [] : readNoted(noted);
  await withDatabase(async ({ api }) => {
    const chains = await verifyAuditAcrossWorkspaces(api, only, heads);
    if (only && chains.length === 0) throw workspaceNotFound(only);
    const verified = { workspaces: chains.length, events: chains.reduce((sum, { events }) => sum + events, 0) };
    if (json) printJson({ ...verified, chains });
    else process.stdout.write(`Read ${verified.events} audit events in ${verified.workspaces} workspaces.\n`);
    for (const chain of chains) {
      if (!chain.broken) continue;
      process.stderr.write(`tidemill: ${sentence(chain.workspace, chain.broken)}\n`);
      process.exitCode = 1;
    }
  });
}

function readNoted(file: string): readonly NotedHead[] {
  const report = parsed(readFileSync(file, "utf8"));
  if (!Value.Check(Noted, report)) throw new Error(`${file} is not the output of "tidemill audit verify --json".`);
  return report.chains;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const BREAKS = {
  altered: "was altered",
  missing: "is missing",
  added: "was added",
  dropped_early: "was dropped before it expired",
} as const;

const sentence = (workspace: string, { seq, id, problem }: NonNullable<ChainReport["broken"]>): string =>
  `The audit log of ${workspace} is broken: event ${seq}${id ? ` (${id})` : ""} ${BREAKS[problem]}.`;
