import { type NavigateOptions, useNavigate, useRouter } from "@tanstack/react-router";

/** Returns a function to call when an action begins. That function returns another one, which tells whether the page is still the same. */
export function useHere(): () => () => boolean {
  const { history } = useRouter();
  return () => {
    const { pathname } = history.location;
    return () => history.location.pathname === pathname;
  };
}

/**
 * Returns a function to call when an action begins. That function returns another one, which navigates only if the page is still the same.
 */
export function useNavigateFromHere(): () => (target: NavigateOptions) => Promise<void> {
  const here = useHere();
  const navigate = useNavigate();
  return () => {
    const isHere = here();
    return async (target) => {
      if (isHere()) await navigate(target);
    };
  };
}
