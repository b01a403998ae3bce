import type { JobKind } from "#engine";
import type { Module } from "#http";
import type { Clock, Database, EmitEvent } from "#kernel";
import { type AddressGuard, type OwnPorts, Sender } from "#outbound";
import type { SecretAccess } from "#vault";
import { CallbackDeliverer } from "./deliverer.ts";
import { Endpoints } from "./endpoint.ts";

export interface CallbacksOptions {
  readonly engine: Database;
  readonly guard: AddressGuard;
  readonly ownPorts: OwnPorts;
  readonly secrets: SecretAccess;
  readonly clock: Clock;
  readonly version: string;
  readonly emit: EmitEvent;
}

/** Callbacks: jobs of queues are delivered to the `callback_url` of their queue. */
export function createCallbacks({
  engine,
  guard,
  ownPorts,
  secrets,
  clock,
  version,
  emit,
}: CallbacksOptions): Module & { readonly kind: JobKind } {
  const sender = new Sender(guard, ownPorts);
  const deliverer = new CallbackDeliverer({ sender, endpoints: new Endpoints(engine, guard), secrets, clock, version, emit });
  return {
    kind: { name: "queue", deliverer, recorded: true },
    services: [{ start: () => {}, stop: () => sender.close() }],
  };
}
