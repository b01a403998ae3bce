import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useWorkspace } from "../app/workspace.tsx";

export interface WsLinkProps {
  /** The address below `/w/<workspace>/`, like `queues/$queue`. */
  readonly to: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly className?: string | undefined;
  readonly children: ReactNode;
}

/** A link to a page of the workspace: `<WsLink to="queues/$queue" params={{ queue }}>`. */
export function WsLink({ to, params, query, className, children }: WsLinkProps) {
  const { id } = useWorkspace();
  return (
    <Link to={`/w/$workspace/${to}`} params={{ workspace: id, ...params }} search={query ?? {}} className={className}>
      {children}
    </Link>
  );
}
