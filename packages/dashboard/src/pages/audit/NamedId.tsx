import classes from "./audit.module.css";
import type { ActorNames } from "./use-actor-names.ts";

/** The name that belongs to an id, if it is known. An id without a name is shown as it is. */
export function NamedId({ id, names, withId = false }: { id: string; names: ActorNames; withId?: boolean }) {
  const named = names.get(id);
  if (!named) return <>{id}</>;
  return (
    <span title={id}>
      {named.name} <span className={classes.kind}>({named.kind})</span> {withId && <code>{id}</code>}
    </span>
  );
}
