import type { QueryClient } from "@tanstack/react-query";
import { type AnyRoute, createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet } from "@tanstack/react-router";
import { ROOT } from "../api/request.ts";
import { PageError } from "../ui/PageError.tsx";
import { PageMissing } from "../ui/PageMissing.tsx";
import { Home } from "./Home.tsx";
import { PAGES, type Page } from "./pages.ts";
import { SignedIn } from "./SignedIn.tsx";
import { readSearch, writeSearch } from "./search.ts";

/** Makes the router of all pages. Pages for people who are signed in are inside the shell. */
export function createPageRouter(queryClient: QueryClient) {
  const root = createRootRoute({ component: Outlet, errorComponent: PageError, notFoundComponent: PageMissing });
  const shell = createRoute({ getParentRoute: () => root, id: "shell", component: SignedIn });
  const home = createRoute({ getParentRoute: () => shell, path: "/", component: Home });
  const routeOf = (parent: AnyRoute, { path, load, title, role }: Page) =>
    createRoute({
      getParentRoute: () => parent,
      path: `/${path}`,
      component: lazyRouteComponent(load),
      errorComponent: PageError,
      staticData: { title, role },
    });
  const inShell = PAGES.filter(({ bare }) => !bare).map((page) => routeOf(shell, page));
  const bare = PAGES.filter((page) => page.bare).map((page) => routeOf(root, page));
  return createRouter({
    routeTree: root.addChildren([shell.addChildren([home, ...inShell]), ...bare]),
    basepath: ROOT,
    context: { queryClient },
    parseSearch: readSearch,
    stringifySearch: writeSearch,
    defaultPreload: "intent",
    // Another record is another page: text that was typed for one must not be sent to the other.
    defaultRemountDeps: ({ params }) => params,
    defaultNotFoundComponent: PageMissing,
    scrollRestoration: true,
  });
}
