import { listNodesAcrossWorkspaces } from "@tidemill/server";
import { printJson, printTable } from "../output/table.ts";
import { readAllPages } from "./read-pages.ts";
import { withDatabase } from "./with-database.ts";

const COLUMNS = [
  "id",
  "state",
  "host",
  "url",
  "version",
  "started_at",
  "last_seen_at",
  "in_flight",
  "max_in_flight",
  "memory",
  "max_memory",
];
const MIB = 1024 * 1024;

/** `tidemill node list`: lists the nodes that run, and those that ended within the last hour. */
export const listNodesCommand = ({ json }: { json?: boolean }): Promise<void> =>
  withDatabase(async ({ api }) => {
    const nodes = await readAllPages((after: number | null, limit) => listNodesAcrossWorkspaces(api, after, limit));
    if (json) printJson(nodes);
    else {
      const shown = nodes.map((node) => ({ ...node, memory: mib(node.memory_bytes), max_memory: mib(node.max_memory_bytes) }));
      printTable(shown, COLUMNS);
    }
  });

const mib = (bytes: number | null): string | null => (bytes === null ? null : `${Math.round(bytes / MIB)} MiB`);
