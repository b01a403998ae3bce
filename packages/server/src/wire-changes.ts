import type { createEngine, Engine } from "#engine";
import type { Services } from "#kernel";
import type { Live } from "#live";
import type { createPeople } from "#people";
import type { OpenVault } from "#vault";
import type { Workers } from "#workers";
import type { Workflows } from "#workflows";
import type { createWorkspaces, WorkspaceChanged, Workspaces } from "#workspaces";

/** What changes reach. */
interface Reached {
  readonly engine: Pick<Engine, "aborter" | "lease" | "notify">;
  readonly live: Live;
  readonly services: Services;
  readonly workers: Workers;
  readonly workflows: Workflows;
  readonly workspaces: Pick<Workspaces, "forget">;
}

type EngineOptions = Parameters<typeof createEngine>[0];
type WorkspacesOptions = Parameters<typeof createWorkspaces>[0];
type PeopleOptions = Parameters<typeof createPeople>[0];

/** What the modules in which changes are seen call. */
interface WiredChanges {
  /** The engine gets messages of other nodes. */
  readonly ofEngine: Pick<EngineOptions, "handlers" | "look" | "onPulled">;
  /** The API changes workspaces and keys, and the poll finds changes of them. */
  readonly ofWorkspaces: Pick<WorkspacesOptions, "notifyChanged" | "onChangeFound" | "onChangesMissed" | "abortWorkspace">;
  /** People change their sessions, and what others may do. */
  readonly ofPeople: Pick<PeopleOptions, "onPersonChanged">;
}

/**
 * Connects what sees a change, on this node or by a message, with what must know of it. Modules that see changes are created before those
 * that must know: the engine gets all messages, and workers, workflows and live streams need the engine. So this gets `reached` as a function,
 * and calls it at each change. The first change comes when the services start, and then all modules exist.
 *
 * In each direction the order is the same. A node that makes a change first applies it here, and then notifies the others. What is cached is
 * forgotten before calls and streams end, because their clients call again immediately and must not find the old state.
 */
export function wireChanges(openVault: OpenVault, reached: () => Reached): WiredChanges {
  /** Ends calls that wait: those of a key that was revoked, or all of the workspace. Streams end if their reader is refused. */
  const endCallsOf: WorkspaceChanged = (workspaceId, keyId) => {
    const { live, workers, workflows } = reached();
    workers.workspaceChanged(workspaceId, keyId);
    workflows.workspaceChanged(workspaceId);
    live.workspaceChanged(workspaceId);
  };
  /** A workspace was changed or deleted, perhaps by another node. */
  const workspaceChanged: WorkspaceChanged = (workspaceId, keyId) => {
    reached().workspaces.forget(workspaceId, keyId);
    endCallsOf(workspaceId, keyId);
  };
  const endStreamsOf: PeopleOptions["onPersonChanged"] = (personId) => {
    const { live, workflows } = reached();
    live.personChanged(personId);
    workflows.personChanged(personId);
  };
  const reloadMasterKeys = async () => {
    await openVault.reloadKeys();
    await reached().engine.lease.refresh();
    await openVault.finishRotation();
  };
  return {
    ofEngine: {
      handlers: {
        workspaceChanged: ({ workspaceId, keyId }) => workspaceChanged(workspaceId, keyId),
        workspaceDeleted: ({ workspaceId }) => workspaceChanged(workspaceId, null),
        personChanged: ({ personId }) => endStreamsOf(personId),
        runChanged: (run) => reached().workflows.runChanged(run),
        workspaceFollowed: (message) => reached().live.receive(message),
        recordsChanged: (message) => reached().live.receive(message),
        followersWanted: (message) => reached().live.receive(message),
        masterKeyChanged: () => void reloadMasterKeys(),
      },
      look: () => {
        const { live, services, workers, workflows } = reached();
        services.missed();
        workers.wokenAll();
        workflows.runsMayHaveChanged();
        live.missed();
      },
      onPulled: {
        woken: (lanes) => reached().workers.woken(lanes),
        cancelled: (leaseId, id) => reached().workers.cancelled(leaseId, id),
        laneDeleted: (lane) => reached().workers.laneDeleted(lane),
        isLimited: (lane) => reached().workers.isLimited(lane),
      },
    },
    ofWorkspaces: {
      // The workspaces have already forgotten what they had cached.
      notifyChanged: (workspaceId, keyId) => {
        endCallsOf(workspaceId, keyId);
        reached().engine.notify({ kind: "workspaceChanged", workspaceId, keyId });
      },
      abortWorkspace: (workspaceId) => {
        endCallsOf(workspaceId, null);
        reached().engine.aborter.abortWorkspace(workspaceId);
      },
      onChangeFound: workspaceChanged,
      onChangesMissed: () => reached().workers.endCalls(),
    },
    ofPeople: {
      onPersonChanged: (personId) => {
        endStreamsOf(personId);
        reached().engine.notify({ kind: "personChanged", personId });
      },
    },
  };
}
