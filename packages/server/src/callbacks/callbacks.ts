import type { AuditLog } from "#audit";
import type { JobKind } from "#engine";
import type { Module } from "#http";
import type { Clock, Database, EmitEvent, Shares, Tenants } from "#kernel";
import { type AddressGuard, type HostsInUse, type Names, type OwnPorts, Sender } from "#outbound";
import type { SecretAccess } from "#vault";
import { CallbackDeliverer } from "./deliverer.ts";
import { Endpoints } from "./endpoint.ts";
import { mountCallbacks } from "./routes.ts";

export interface CallbacksOptions {
  readonly engine: Database;
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly guard: AddressGuard;
  readonly names: Names;
  readonly hosts: HostsInUse;
  readonly ownPorts: OwnPorts;
  readonly secrets: SecretAccess;
  readonly shares: Shares;
  readonly clock: Clock;
  readonly version: string;
  readonly emit: EmitEvent;
}

/** Callbacks: jobs of queues are delivered to the `callback_url` of their queue. */
export function createCallbacks({
  engine,
  tenants,
  audit,
  guard,
  names,
  hosts,
  ownPorts,
  secrets,
  shares,
  clock,
  version,
  emit,
}: CallbacksOptions): Module & { readonly kind: JobKind } {
  const sender = new Sender(guard, ownPorts);
  const deliverer = new CallbackDeliverer({
    sender,
    names,
    hosts,
    endpoints: new Endpoints(engine, guard),
    secrets,
    shares,
    clock,
    version,
    emit,
  });
  return {
    routes: (api) => mountCallbacks(api, { tenants, audit, clock, version }),
    kind: { name: "queue", deliverer, recorded: true },
    services: [{ start: () => {}, stop: () => sender.close() }],
  };
}
