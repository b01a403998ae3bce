import type { Authenticator, Module } from "#http";
import {
  type Config,
  type Database,
  type Db,
  type EmitEvent,
  PeriodicLoop,
  type Random,
  type Service,
  type Tenants,
  type WorkspaceId,
} from "#kernel";
import { createFirstWorkspace } from "./create-workspace.ts";
import { PrincipalFinder } from "./find-principal.ts";
import { mountKeys } from "./key-routes.ts";
import { KeyUses } from "./key-uses.ts";
import { mountOperatorApi } from "./operator-routes.ts";
import type { Registrar } from "./registrar.ts";

const WRITE_USES_MS = 10_000;

export interface WorkspacesOptions {
  readonly config: Config;
  readonly api: Database;
  readonly engine: Database;
  readonly tenants: Tenants;
  readonly registrar: Registrar;
  readonly random: Random;
  readonly emit: EmitEvent;
  /** Other nodes should forget what they know of a workspace. */
  readonly notifyChanged: (workspaceId: WorkspaceId) => void;
  /** Deletes, in the transaction that deletes a workspace, what other modules keep of it. */
  readonly emptyWorkspace: (tx: Db, workspaceId: WorkspaceId) => Promise<unknown>;
  /** Ends the attempts of a deleted workspace, on all nodes. */
  readonly abortWorkspace: (workspaceId: WorkspaceId) => void;
}

export interface Workspaces extends Module {
  readonly authenticator: Authenticator;
  /** Makes the first workspace where there is none, when the node starts. */
  readonly first: Service;
  /** The first workspace's key, when this start made it. */
  firstKey(): string | null;
  /** Forgets what this node knows of a workspace's keys, plan and limits. */
  forget(workspaceId: WorkspaceId): void;
}

/** Workspaces and their keys, and who a request is from. */
export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const { config, api, engine, tenants, registrar, random, emit, notifyChanged, emptyWorkspace, abortWorkspace } = options;
  const keyUses = new KeyUses(engine, registrar.clock);
  const principals = new PrincipalFinder(api, registrar.clock, keyUses, config.bootstrapKey);
  const forget = (workspaceId: WorkspaceId) => principals.forget(workspaceId);
  const onWorkspaceChanged = (workspaceId: WorkspaceId) => {
    forget(workspaceId);
    notifyChanged(workspaceId);
  };
  const loop = new PeriodicLoop({ name: "key-uses", everyMs: WRITE_USES_MS, pass: () => keyUses.write() }, emit, random);
  let firstKey: string | null = null;
  return {
    authenticator: { findPrincipal: (key) => principals.find(key), operatorToken: config.adminToken },
    forget,
    firstKey: () => firstKey,
    first: {
      start: async () => {
        const made = await createFirstWorkspace(api, registrar, { name: "Default", plan: config.defaultPlan }, config.bootstrapKey);
        firstKey = made?.key ?? null;
        if (config.bootstrapKey !== null && !(await principals.knows(config.bootstrapKey))) emit("bootstrap_key_refused", {});
      },
      stop: async () => {},
    },
    routes: (listener) => mountKeys(listener, { tenants, registrar, onWorkspaceChanged }),
    operatorRoutes: (listener) =>
      mountOperatorApi(listener, {
        database: api,
        registrar,
        onWorkspaceChanged,
        onDeleteWorkspace: emptyWorkspace,
        onWorkspaceDeleted: (workspaceId) => {
          forget(workspaceId);
          abortWorkspace(workspaceId);
        },
      }),
    services: [
      {
        start: () => loop.start(),
        wake: () => loop.wake(),
        stop: async () => {
          await loop.stop();
          await keyUses.flush().catch((error: unknown) => emit("key_uses_lost", { error }));
        },
      },
    ],
  };
}
