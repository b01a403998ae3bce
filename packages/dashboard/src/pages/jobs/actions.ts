import type { OperationAction } from "@tidemill/contract";

/** What can be done with many jobs at once. */
export const MANY: Readonly<
  Record<OperationAction, { verb: string; under: string; done: string; consequence: string; states: readonly string[] }>
> = {
  retry: {
    verb: "Retry",
    under: "Retrying",
    done: "retried",
    consequence: "Failed, cancelled and rejected jobs wait again, with a fresh set of attempts.",
    states: ["failed", "cancelled", "rejected"],
  },
  cancel: {
    verb: "Cancel",
    under: "Cancelling",
    done: "cancelled",
    consequence: "Jobs that have not finished are cancelled. Attempts under way are ended.",
    states: ["waiting", "delayed", "pending_approval", "active"],
  },
  remove: {
    verb: "Remove",
    under: "Removing",
    done: "removed",
    consequence: "Jobs that have finished are removed with their results and attempts. This cannot be undone.",
    states: ["completed", "failed", "cancelled", "rejected"],
  },
};

/** The states of a filter that an action changes. */
export function statesFor(action: OperationAction, filter: string | undefined): string[] {
  const asked = filter?.split(",");
  return MANY[action].states.filter((state) => asked?.includes(state) ?? true);
}
