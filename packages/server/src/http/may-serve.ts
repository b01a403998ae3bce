import { problem } from "#kernel";
import type { Principal } from "./principal.ts";

/** What a key may be bound to. */
type Bindings = Pick<Principal, "queues" | "workflows">;

/** What workers serve. */
export type Served = "queue" | "workflow";

/** The queues or workflows that a key may serve; null: all. A key that is bound to some of either may serve nothing else. */
export const servedBy = ({ queues, workflows }: Bindings, kind: Served): readonly string[] | null =>
  queues === null && workflows === null ? null : ((kind === "queue" ? queues : workflows) ?? []);

/** Whether a key may serve a queue or a workflow: any of its workspace, unless it is bound to some. */
export const mayServe = (bindings: Bindings, kind: Served, name: string): boolean => servedBy(bindings, kind)?.includes(name) ?? true;

/** @throws FORBIDDEN for a queue or a workflow that the key is not bound to */
export function checkMayServe(bindings: Bindings, kind: Served, name: string): void {
  if (mayServe(bindings, kind, name)) return;
  throw problem("FORBIDDEN", { [kind]: name }, { message: `The key is not bound to the ${kind} "${name}".` });
}
