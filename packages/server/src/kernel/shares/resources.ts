/** What workspaces share on a node. Each value completes the sentence "All of this node's … is in use." */
export const RESOURCES = {
  delivery_slots: "capacity for callbacks in flight",
  payload_memory: "memory for payloads of callbacks in flight",
  lookups: "capacity for looking up host names",
  client_connections: "capacity for connections with requests in progress",
  connections: "capacity for database requests",
  request_memory: "memory for requests and responses",
  event_streams: "capacity for streams of events",
  workers: "room for workers",
  enqueue_backlog: "room for jobs that wait to be stored",
} as const;

export type ResourceName = keyof typeof RESOURCES;
