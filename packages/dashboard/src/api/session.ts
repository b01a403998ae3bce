import { queryOptions, useQuery } from "@tanstack/react-query";
import { auth, sessionHasEnded } from "./api.ts";

export type Role = "admin" | "write" | "read" | "worker";

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly operator: boolean;
  /** Whether the person has rights that apply only in a session that began at the identity provider. */
  readonly more_by_provider: boolean;
  readonly has_password: boolean;
  readonly totp: boolean;
}

export interface Membership {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  readonly role: Role;
}

/** `GET /dashboard/auth/session`. */
export interface Session {
  readonly person: Person | null;
  readonly workspaces: readonly Membership[];
  readonly confirmed_until: string | null;
  readonly sign_in: {
    readonly passkeys: boolean;
    readonly oidc: { readonly name: string } | null;
    readonly sign_up: "open" | "closed";
    readonly mail: boolean;
  };
}

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async ({ client, signal }) =>
    afterwards(client.getQueryData<Session>(["session"]), await auth.get<Session>("/session", { signal })),
  staleTime: 60_000,
});

/**
 * A page keeps its person. When the session ends, the page stays as it is, with the typed text. When somebody else signs in, it is loaded
 * again.
 */
function afterwards(before: Session | undefined, now: Session): Session {
  if (!before?.person || now.person?.id === before.person.id) return withPasskeys(now);
  if (now.person) globalThis.location.reload();
  else sessionHasEnded();
  return before;
}

/** The service cannot see whether the page came over TLS, without which browsers have no passkeys. */
function withPasskeys(session: Session): Session {
  const { sign_in: ways } = session;
  return { ...session, sign_in: { ...ways, passkeys: ways.passkeys && globalThis.isSecureContext } };
}

/** The session, which the gate has loaded before any page is shown. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error(" useSession is for components inside the gate.");
  return data;
}

/** The person who is signed in. */
export function usePerson(): Person {
  const { person } = useSession();
  if (!person) throw new Error("usePerson is for pages behind sign-in.");
  return person;
}
