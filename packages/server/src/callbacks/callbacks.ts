import type { AuditLog } from "#audit";
import type { Deliverer, JobKind } from "#engine";
import type { Module } from "#http";
import type { Clock, Database, EmitEvent, Shares, Tenants } from "#kernel";
import { type AddressGuard, type HostsInUse, type Names, type OwnPorts, Sender } from "#outbound";
import type { SecretAccess } from "#vault";
import { isCallWanted } from "#workflows";
import { CallDeliverer } from "./call-deliverer.ts";
import { CallbackDeliverer } from "./deliverer.ts";
import { callbackEndpoints } from "./endpoint.ts";
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

/** Callbacks: jobs of queues are delivered to the `callback_url` of their queue. Also HTTP calls for steps of runs. */
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
}: CallbacksOptions): Module & { readonly kind: JobKind; readonly calls: Deliverer } {
  const sender = new Sender(guard, ownPorts);
  const common = { sender, names, hosts, secrets, shares, clock, version, emit };
  const deliverer = new CallbackDeliverer({ ...common, endpoints: callbackEndpoints(engine, guard) });
  return {
    routes: (api) => mountCallbacks(api, { tenants, audit, clock, version }),
    kind: { name: "queue", deliverer, recorded: true },
    calls: new CallDeliverer({ ...common, guard, isWanted: (claim) => isCallWanted(engine, claim) }),
    services: [{ start: () => {}, stop: () => sender.close() }],
  };
}
