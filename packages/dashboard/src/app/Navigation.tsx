import { Link } from "@tanstack/react-router";
import { Icon } from "../ui/Icon.tsx";
import classes from "./Navigation.module.css";
import { useNavigablePages } from "./navigable-pages.ts";
import { NAV_SECTIONS, type Page } from "./pages.ts";
import { useWorkspaceNearby } from "./workspace.tsx";

/** The pages that the person may see, in sections. */
export function Navigation() {
  const pages = useNavigablePages();
  return (
    <nav className={classes.nav} aria-label="Pages">
      {NAV_SECTIONS.map((section) => {
        const own = pages.filter(({ nav }) => nav?.section === section);
        if (own.length === 0) return null;
        return (
          <section key={section} className={classes.section} aria-labelledby={`nav-${section}`}>
            <h2 className={classes.heading} id={`nav-${section}`}>
              {section}
            </h2>
            <ul className={classes.list}>
              {own.map((page) => (
                <li key={page.path}>
                  <NavigationLink page={page} />
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </nav>
  );
}

function NavigationLink({ page: { path, title, nav } }: { page: Page }) {
  const workspace = useWorkspaceNearby();
  return (
    <Link to={`/${path}`} params={{ workspace: workspace?.id ?? "" }} className={classes.link} activeOptions={{ includeSearch: false }}>
      {nav && <Icon name={nav.icon} />}
      <span>{title}</span>
    </Link>
  );
}
