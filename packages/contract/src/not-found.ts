import { type Static, Type } from "typebox";
import { Nullable } from "./paging.ts";

const Suggestion = Nullable(
  Type.String({ description: "A similar name in the workspace, which was probably meant. Null when there is none." }),
);

const Named = <Resource extends string>(resource: Resource) =>
  Type.Object({ resource: Type.Literal(resource), name: Type.String(), suggestion: Suggestion });

const Identified = <Resource extends string>(resource: Resource) => Type.Object({ resource: Type.Literal(resource), id: Type.String() });

/**
 * The details of `NOT_FOUND`: what the request looked for. They are the same for a resource of another workspace as for one that does
 * not exist anywhere.
 * Source: contract §1, `NOT_FOUND`.
 */
export const NotFoundDetails = Type.Union([
  Named("queue"),
  Named("schedule"),
  Named("secret"),
  Named("workflow"),
  Named("webhook"),
  Type.Object({ resource: Type.Literal("delivery"), id: Type.String(), webhook: Type.String() }),
  Type.Object({ resource: Type.Literal("job"), id: Type.String(), queue: Type.String() }),
  Identified("invitation"),
  Identified("key"),
  Type.Object({ resource: Type.Literal("link") }),
  Identified("member"),
  Identified("operation"),
  Identified("run"),
  Identified("passkey"),
  Identified("session"),
  Identified("signal"),
  Identified("workspace"),
  Type.Object({ resource: Type.Literal("route"), method: Type.String(), path: Type.String(), suggestion: Suggestion }),
]);
export type NotFoundDetails = Static<typeof NotFoundDetails>;
