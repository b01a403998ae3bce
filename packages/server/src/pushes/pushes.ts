import type { Deliverer } from "#engine";
import type { Module } from "#http";
import type { Clock, Database, EmitEvent, LockWaits, Shares } from "#kernel";
import { type AddressGuard, type HostsInUse, type Names, type OwnPorts, Sender } from "#outbound";
import { ExecutionTokens, type FillSecrets } from "#workers";
import { PushDeliverer } from "./deliverer.ts";
import { workflowEndpoints } from "./endpoint.ts";
import { hookProgram, runProgram } from "./program.ts";

export interface PushesOptions {
  readonly engine: Database;
  readonly lockWaits: LockWaits;
  readonly guard: AddressGuard;
  readonly names: Names;
  readonly hosts: HostsInUse;
  readonly ownPorts: OwnPorts;
  readonly shares: Shares;
  readonly secrets: FillSecrets["secrets"];
  readonly clock: Clock;
  readonly version: string;
  readonly emit: EmitEvent;
}

/** Pushes: runs and hooks are executed at the `endpoint_url` of their workflow. */
export interface Pushes extends Module {
  readonly runs: Deliverer;
  readonly hooks: Deliverer;
}

export function createPushes({
  engine,
  lockWaits,
  guard,
  names,
  hosts,
  ownPorts,
  shares,
  secrets,
  clock,
  version,
  emit,
}: PushesOptions): Pushes {
  const sender = new Sender(guard, ownPorts);
  const tokens = new ExecutionTokens(engine);
  const common = { endpoints: workflowEndpoints(engine, guard), sender, names, hosts, shares, clock, version, emit };
  return {
    runs: new PushDeliverer({ ...common, program: runProgram(engine, tokens, { secrets, loopTime: shares.loopTime }, clock, lockWaits) }),
    hooks: new PushDeliverer({ ...common, program: hookProgram(tokens, clock) }),
    services: [{ start: () => {}, stop: () => sender.close() }],
  };
}
