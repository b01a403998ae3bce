import type { NodeRecord } from "@tidemill/contract";
import { operator } from "../../api/api.ts";
import { usePages } from "../../api/use-pages.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { MoreButton } from "../../ui/list/MoreButton.tsx";
import { RowTable } from "../../ui/list/RowTable.tsx";
import { type Tile, Tiles } from "../../ui/metrics/Tiles.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { StateBadge, type Tone } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./NodesPage.module.css";

const PAGE_SIZE = 100;
const LOOK_EVERY_MS = 5_000;
const TONES: Readonly<Record<NodeRecord["state"], Tone>> = { alive: "good", draining: "warn", stopped: "rest", lost: "bad" };

const COLUMNS: readonly Column<NodeRecord>[] = [
  {
    id: "host",
    header: "Host",
    width: "minmax(7rem, 2fr)",
    cell: (node) => <span title={node.url ?? node.host ?? ""}>{placeOf(node)}</span>,
  },
  { id: "id", header: "Lease", width: "4rem", align: "end", cell: ({ id }) => id, wide: true },
  { id: "state", header: "State", width: "6.5rem", cell: ({ state }) => <StateBadge state={state} tone={TONES[state]} /> },
  { id: "version", header: "Version", width: "minmax(5rem, 1fr)", cell: ({ version }) => version ?? "unknown", wide: true },
  {
    id: "flight",
    header: "In flight",
    width: "minmax(5rem, 7rem)",
    align: "end",
    cell: ({ in_flight, max_in_flight }) => outOf(number(in_flight), max_in_flight === null ? null : number(max_in_flight)),
    unit: "in flight",
  },
  {
    id: "memory",
    header: "Memory",
    width: "minmax(8rem, 10rem)",
    align: "end",
    cell: ({ memory_bytes, max_memory_bytes }) =>
      memory_bytes === null ? "unknown" : outOf(mib(memory_bytes), max_memory_bytes === null ? null : mib(max_memory_bytes)),
    wide: true,
  },
  { id: "started", header: "Started", width: "7rem", align: "end", cell: ({ started_at }) => moment(started_at), wide: true },
  { id: "seen", header: "Last seen", width: "6rem", align: "end", cell: ({ last_seen_at, ended_at }) => moment(last_seen_at ?? ended_at) },
];

const NARROW: NarrowRow = { lines: ["host seen", "state flight"], widths: "minmax(0, 1fr) auto" };

/** The nodes of the service: those that run, and those that ended within the last hour. */
export default function NodesPage() {
  const pages = usePages<NodeRecord>(operator, "/nodes", {
    queryKey: ["operator", "nodes"],
    limit: PAGE_SIZE,
    refetchInterval: LOOK_EVERY_MS,
  });
  const { records: nodes, error, refetch } = pages;
  return (
    <PageFrame title="Nodes">
      {/* What was loaded before says how the nodes were, not how they are. */}
      {error ? (
        <ErrorState error={error} what="the nodes" onRetry={refetch} />
      ) : !nodes ? (
        <LoadingState what="the nodes" />
      ) : (
        <>
          <Tiles tiles={tilesOf(nodes, pages.hasMore)} />
          <div className={classes.table}>
            <RowTable
              label="Nodes"
              rows={nodes.map((record) => ({ id: String(record.id), record, gone: false }))}
              columns={COLUMNS}
              narrow={NARROW}
              nameOf={(node) => (node.host === null ? `node ${node.id}` : placeOf(node))}
            />
          </div>
          <p className={classes.note}>
            A node is lost when it has not renewed its lease in time; other nodes take its jobs back. Nodes that ended are listed for an
            hour.
          </p>
        </>
      )}
      <MoreButton pages={pages} />
    </PageFrame>
  );
}

function tilesOf(nodes: readonly NodeRecord[], hasMore: boolean): Tile[] {
  const running = nodes.filter(({ state }) => state === "alive" || state === "draining");
  const draining = running.filter(({ state }) => state === "draining").length;
  const lost = nodes.filter(({ state }) => state === "lost").length;
  const versions = [...new Set(running.map(({ version }) => version ?? "unknown"))];
  const loaded = hasMore ? ` of the newest ${nodes.length}` : "";
  return [
    { name: "Running", value: running.length, about: `${draining > 0 ? `${draining} about to stop` : "none about to stop"}${loaded}` },
    { name: "Lost in the last hour", value: lost, about: lost > 0 ? "Check their logs." : loaded, tone: lost > 0 ? "bad" : undefined },
    { name: "In flight", value: number(nodes.reduce((sum, { in_flight }) => sum + in_flight, 0)), about: "attempts on all nodes" },
    {
      name: "Version",
      value: versions.length === 1 ? versions[0] : versions.length,
      about: versions.length > 1 ? `Nodes of different versions run together: ${versions.join(", ")}.` : "of all running nodes",
      tone: versions.length > 1 ? "warn" : undefined,
    },
  ];
}

/** The host, with the port: one machine may have several nodes. */
function placeOf({ host, url }: NodeRecord): string {
  const port = url === null ? "" : new URL(url).port;
  return `${host ?? "unknown"}${port && `:${port}`}`;
}

const moment = (at: string | null) => (at === null ? "unknown" : <Time at={at} />);
const outOf = (value: string, max: string | null): string => (max === null ? value : `${value} of ${max}`);
const number = (value: number): string => value.toLocaleString("en");
const mib = (bytes: number): string => `${number(Math.round(bytes / 1_048_576))} MiB`;
