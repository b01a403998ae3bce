import { type Static, Type } from "typebox";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";

/** In order of life. */
export const NODE_STATES = ["alive", "draining", "stopped", "lost"] as const;

export const NodeRecord = Type.Object(
  {
    id: Type.Integer({ description: "Id of its lease, as in the log (`leaseId`). A node that lost its lease continues under another." }),
    state: Type.Enum(NODE_STATES, {
      description:
        "`alive`: it renews its lease. `draining`: it is about to stop, claims nothing more and finishes what is in flight. `stopped`: it " +
        "ended its lease when it stopped. `lost`: its lease expired, and other nodes take its jobs back.",
    }),
    host: Nullable(Type.String(), { description: "Name of the machine or container." }),
    url: Nullable(Type.String(), {
      description: "Where its API listens. Nodes of one machine have different ports. Null: one that did not report it yet.",
    }),
    version: Nullable(Type.String(), { description: "Version of Tidemill that it runs. Null: one that did not report it yet." }),
    started_at: Nullable(Moment("When its process started. RFC 3339 in UTC.")),
    last_seen_at: Nullable(Moment("When it last renewed its lease. RFC 3339 in UTC.")),
    ended_at: Nullable(Moment("When it ended its lease, or the lease expired. RFC 3339 in UTC.")),
    in_flight: Type.Integer({
      description: "Attempts that it has in flight now. For a lost node: attempts that other nodes have not taken back yet.",
    }),
    max_in_flight: Nullable(Type.Integer(), { description: "How many it may have in flight (`TIDEMILL_CALLBACKS_IN_FLIGHT`)." }),
    memory_bytes: Nullable(Type.Integer(), { description: "Memory of its process when it was last seen." }),
    max_memory_bytes: Nullable(Type.Integer(), { description: "How much memory it may use (`TIDEMILL_MEMORY_MB`)." }),
  },
  {
    title: "Node",
    description: "A node of the service. One that ended is listed for an hour. A value that is not known is null.",
    examples: [
      {
        id: 17,
        state: "alive",
        host: "jobs-7d4b9c",
        url: "http://10.0.3.17:8080",
        version: "0.1.0",
        started_at: "2026-11-21T08:00:00.000Z",
        last_seen_at: "2026-11-21T09:29:58.412Z",
        ended_at: null,
        in_flight: 12,
        max_in_flight: 4_096,
        memory_bytes: 187_432_960,
        max_memory_bytes: 2_147_483_648,
      },
    ],
  },
);
export type NodeRecord = Static<typeof NodeRecord>;

export const ListNodes = Type.Object({ ...PageQuery, cursor: Cursor("NodeCursor", "17") }, { additionalProperties: false });
