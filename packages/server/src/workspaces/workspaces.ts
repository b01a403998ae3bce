import type { Authenticator, Module } from "#http";
import {
  type Config,
  type Database,
  type Db,
  type EmitEvent,
  PeriodicLoop,
  type PolledChanges,
  type Random,
  type Service,
  type Tenants,
  type WorkspaceId,
} from "#kernel";
import { ACCESS_CHANGES_SINCE_LAST, reportAccessChanges } from "./access-changes.ts";
import type { AdminContext } from "./admin-context.ts";
import { createFirstWorkspace } from "./create-workspace.ts";
import { PrincipalFinder } from "./find-principal.ts";
import { mountKeys } from "./key-routes.ts";
import { lockKey } from "./key-store.ts";
import { KeyUses } from "./key-uses.ts";
import { mountOperatorApi } from "./operator-routes.ts";
import type { WorkspaceChanged } from "./workspace.ts";

const WRITE_USES_MS = 10_000;

export interface WorkspacesOptions {
  readonly config: Config;
  readonly api: Database;
  readonly engine: Database;
  readonly tenants: Tenants;
  readonly adminContext: AdminContext;
  readonly random: Random;
  readonly emit: EmitEvent;
  /** Notifies other nodes that what they have cached about a workspace, or about one of its keys, is outdated. */
  readonly notifyChanged: WorkspaceChanged;
  /** Deletes what other modules store for a workspace, in the transaction that deletes it. */
  readonly emptyWorkspace: (tx: Db, workspaceId: WorkspaceId) => Promise<unknown>;
  /** The poll has found that a workspace or a key has changed, perhaps at another node. */
  readonly onChangeFound: WorkspaceChanged;
  /** Any workspace or key may have changed. */
  readonly onChangesMissed: () => void;
  /** Ends the attempts of a deleted workspace, on all nodes. */
  readonly abortWorkspace: (workspaceId: WorkspaceId) => void;
}

export interface Workspaces extends Module {
  readonly authenticator: Authenticator;
  /** Creates the first workspace when the node starts, if there is none. */
  readonly first: Service;
  /** The key of the first workspace, if this start created it. */
  firstKey(): string | null;
  /** Forgets what this node has cached about a workspace's keys, plan and limits, or about one key. */
  readonly forget: WorkspaceChanged;
  /** Changes of workspaces and keys, which the poll of this node finds. */
  readonly changes: PolledChanges;
}

/** Workspaces, their keys, and the authentication of requests. */
export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const {
    config,
    api,
    engine,
    tenants,
    adminContext,
    random,
    emit,
    notifyChanged,
    onChangeFound,
    onChangesMissed,
    emptyWorkspace,
    abortWorkspace,
  } = options;
  const keyUses = new KeyUses(engine, adminContext.clock);
  const principals = new PrincipalFinder(api, adminContext.clock, keyUses, config.bootstrapKey);
  const forget: WorkspaceChanged = (workspaceId, keyId) => principals.forget(workspaceId, keyId);
  const onWorkspaceChanged: WorkspaceChanged = (workspaceId, keyId) => {
    forget(workspaceId, keyId);
    notifyChanged(workspaceId, keyId);
  };
  const loop = new PeriodicLoop({ name: "key-uses", everyMs: WRITE_USES_MS, pass: () => keyUses.write() }, emit, random);
  let firstKey: string | null = null;
  return {
    authenticator: { findPrincipal: (key) => principals.find(key), lockKey, operatorToken: config.adminToken },
    forget,
    changes: {
      sinceLast: ACCESS_CHANGES_SINCE_LAST,
      receive: (changes, sentMs) => {
        if (changes) reportAccessChanges(changes, onChangeFound);
        else {
          principals.forgetAll();
          onChangesMissed();
        }
        principals.proven(sentMs);
      },
    },
    firstKey: () => firstKey,
    first: {
      start: async () => {
        const made = await createFirstWorkspace(api, adminContext, { name: "Default", plan: config.defaultPlan }, config.bootstrapKey);
        firstKey = made?.key ?? null;
        if (config.bootstrapKey !== null && !(await principals.knows(config.bootstrapKey))) emit("bootstrap_key_refused", {});
      },
      stop: async () => {},
    },
    routes: (listener) => mountKeys(listener, { tenants, adminContext, onWorkspaceChanged }),
    operatorRoutes: (listener) =>
      mountOperatorApi(listener, {
        database: api,
        adminContext,
        onWorkspaceChanged,
        onDeleteWorkspace: emptyWorkspace,
        onWorkspaceDeleted: (workspaceId) => {
          forget(workspaceId, null);
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
