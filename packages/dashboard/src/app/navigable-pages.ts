import { usePerson } from "../api/session.ts";
import { PAGES, type Page } from "./pages.ts";
import { useWorkspaceNearby } from "./workspace.tsx";

/** The pages of the navigation that the person may see. Pages of a workspace need a workspace. */
export function useNavigablePages(): readonly Page[] {
  const workspace = useWorkspaceNearby();
  const person = usePerson();
  return PAGES.filter(({ path, nav, role }) => {
    if (!nav) return false;
    if (role === "operator") return person.operator;
    if (!path.startsWith("w/$workspace/")) return true;
    return workspace !== null && (role === undefined || workspace.may(role));
  });
}
