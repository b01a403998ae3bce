import { type Static, Type } from "typebox";
import { Nullable } from "./paging.ts";

const Suggestion = Nullable(
  Type.String({ description: "A name that is near, and was probably meant: one of the workspace's own. Null where none is near." }),
);

const Named = <Resource extends string>(resource: Resource) =>
  Type.Object({ resource: Type.Literal(resource), name: Type.String(), suggestion: Suggestion });

const Identified = <Resource extends string>(resource: Resource) => Type.Object({ resource: Type.Literal(resource), id: Type.String() });

/**
 * The details of `NOT_FOUND`: what the request looked for. They say the same of what another workspace has and of what nobody has.
 * Source: contract §1, `NOT_FOUND`.
 */
export const NotFoundDetails = Type.Union([
  Named("queue"),
  Named("schedule"),
  Named("secret"),
  Type.Object({ resource: Type.Literal("job"), id: Type.String(), queue: Type.String() }),
  Identified("key"),
  Identified("workspace"),
  Type.Object({ resource: Type.Literal("route"), method: Type.String(), path: Type.String(), suggestion: Suggestion }),
]);
export type NotFoundDetails = Static<typeof NotFoundDetails>;
