import type { EmitEvent } from "../events.ts";
import type { WorkspaceId } from "../ids.ts";
import { LoopTime } from "./loop-time.ts";
import { defaultMemoryMib, divideMemory } from "./memory.ts";
import type { ResourceName } from "./resources.ts";
import { SharedResource } from "./shared-resource.ts";

/** The maximum number of look-ups of host names under way. */
const MAX_LOOKUPS = 256;
/** The maximum number of open event streams, and the maximum part of clients' connections that they may take. */
const MAX_EVENT_STREAMS = 1_000;
const EVENT_STREAMS_OF_CONNECTIONS = 0.5;
/** The maximum number of workers that a node knows. */
export const MAX_WORKERS = 50_000;

export interface SharesOptions {
  readonly callbacksInFlight: number;
  readonly enqueueBacklog: number;
  /** Null: half of the machine's. */
  readonly memoryMib: number | null;
  /** Connections that clients may have open. */
  readonly clientConnections: number;
  /** Database connections for requests of workspaces. */
  readonly tenantConnections: number;
  readonly emit: EmitEvent;
}

/** Everything that workspaces share on a node. */
export class Shares {
  readonly deliverySlots: SharedResource;
  readonly payloadMemory: SharedResource;
  readonly lookups: SharedResource;
  readonly clientConnections: SharedResource;
  readonly connections: SharedResource;
  readonly requestMemory: SharedResource;
  readonly eventStreams: SharedResource;
  readonly workers: SharedResource;
  readonly enqueueBacklog: SharedResource;
  readonly loopTime = new LoopTime();
  readonly all: readonly SharedResource[];

  constructor({ callbacksInFlight, enqueueBacklog, memoryMib, clientConnections, tenantConnections, emit }: SharesOptions) {
    const { requestBytes, payloadCharacters } = divideMemory(memoryMib ?? defaultMemoryMib());
    const all: SharedResource[] = [];
    const onRefused = (resource: ResourceName, workspaceId: WorkspaceId) => emit("share_refused", { resource, workspaceId });
    const share = (name: ResourceName, capacity: number): SharedResource => {
      const resource = new SharedResource({ name, capacity, onRefused });
      all.push(resource);
      return resource;
    };
    this.deliverySlots = share("delivery_slots", callbacksInFlight);
    this.payloadMemory = share("payload_memory", payloadCharacters);
    this.lookups = share("lookups", MAX_LOOKUPS);
    this.clientConnections = share("client_connections", clientConnections);
    this.connections = share("connections", tenantConnections);
    this.requestMemory = share("request_memory", requestBytes);
    this.eventStreams = share("event_streams", Math.min(MAX_EVENT_STREAMS, Math.ceil(clientConnections * EVENT_STREAMS_OF_CONNECTIONS)));
    this.workers = share("workers", MAX_WORKERS);
    this.enqueueBacklog = share("enqueue_backlog", enqueueBacklog);
    this.all = all;
  }
}
