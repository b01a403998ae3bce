import { type NavigateOptions, useNavigate, useRouter } from "@tanstack/react-router";

/**
 * For an action that ends on another page. The function that this returns is called when the action begins; what it returns then navigates,
 * unless the person has gone elsewhere in the meantime.
 */
export function useNavigateFromHere(): () => (target: NavigateOptions) => Promise<void> {
  const { history } = useRouter();
  const navigate = useNavigate();
  return () => {
    const { href } = history.location;
    return async (target) => {
      if (history.location.href === href) await navigate(target);
    };
  };
}
