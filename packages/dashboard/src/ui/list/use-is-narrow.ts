import { useSyncExternalStore } from "react";

/** As in the style sheets. */
const NARROW = window.matchMedia("(max-width: 48rem)");

const subscribe = (tell: () => void) => {
  NARROW.addEventListener("change", tell);
  return () => NARROW.removeEventListener("change", tell);
};

/** Whether the window is narrow, like that of a telephone. */
export const useIsNarrow = (): boolean => useSyncExternalStore(subscribe, () => NARROW.matches);
