import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { Link } from "@tidemill/contract";
import { auth } from "../../api/api.ts";
import { mayRecover } from "../../api/api-error.ts";
import { ROOT } from "../../api/request.ts";
import { sessionQuery } from "../../api/session.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { BareFrame } from "./BareFrame.tsx";
import { LinkForm } from "./LinkForm.tsx";

/** A link that can be used once: set-up, an invitation, a new password, a mail address. */
export default function LinkPage() {
  const { token } = useParams({ strict: false }) as { token: string };
  const session = useQuery(sessionQuery);
  const link = useQuery({
    queryKey: ["link", token],
    queryFn: ({ signal }) => auth.get<Link>(`/links/${encodeURIComponent(token)}`, { signal }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  // The form stays when the session cannot be read again in the meantime: somebody types in it.
  if (link.data && session.data) return <LinkForm token={token} link={link.data} person={session.data.person} />;
  const error = link.error ?? session.error;
  if (!error) return <LoadingState />;
  return (
    <BareFrame
      title={mayRecover(error) ? "This link cannot be read now" : "This link cannot be used"}
      foot={<a href={`${ROOT}sign-in`}>Sign in</a>}
    >
      <ErrorState error={error} what="the link" />
      {!mayRecover(error) && <p>Ask the person who gave it to you for another one.</p>}
    </BareFrame>
  );
}
