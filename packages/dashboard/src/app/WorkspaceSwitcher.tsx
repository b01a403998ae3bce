import { Menu, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useSession } from "../api/session.ts";
import { Icon } from "../ui/Icon.tsx";
import { firstPage } from "./pages.ts";
import classes from "./WorkspaceSwitcher.module.css";
import { useWorkspaceNearby } from "./workspace.tsx";

/** The workspace, and the person's others. */
export function WorkspaceSwitcher() {
  const { workspaces } = useSession();
  const workspace = useWorkspaceNearby();
  const navigate = useNavigate();
  return (
    <div className={classes.switcher}>
      <Menu position="bottom-start" width="target">
        <Menu.Target>
          <UnstyledButton className={classes.button}>
            <Logo />
            <VisuallyHidden>Workspace</VisuallyHidden>
            <span className={classes.names}>
              <span className={classes.name}>{workspace?.name ?? "Tidemill"}</span>
              {workspace && <span className={classes.plan}>{[workspace.plan, workspace.role].filter(Boolean).join(" · ")}</span>}
            </span>
            <Icon name="chevronDown" />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>Your workspaces</Menu.Label>
          {workspaces.map(({ id, name }) => (
            <Menu.Item
              key={id}
              rightSection={id === workspace?.id ? <Icon name="check" /> : null}
              onClick={() => void navigate({ to: `/${firstPage()}`, params: { workspace: id } })}
            >
              {name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

function Logo() {
  return (
    <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" fill="#0c7d8c" />
      <path d="M5 20c3.5-3.6 7.2-3.6 11 0s7.5 3.6 11 0" fill="none" stroke="#fff" strokeWidth="2.8" strokeLinecap="round" />
      <path d="M5 13c3.5-3.6 7.2-3.6 11 0s7.5 3.6 11 0" fill="none" stroke="#9fe3ec" strokeWidth="2.8" strokeLinecap="round" />
    </svg>
  );
}
