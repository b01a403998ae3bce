import { ActionIcon, Menu } from "@mantine/core";
import type { DeadLetterGroup } from "@tidemill/contract";
import { Icon } from "../../ui/Icon.tsx";
import type { GroupQuestion } from "./GroupActions.tsx";

/** What can be done with a group. */
export function GroupMenu({ group, onAsk }: { group: DeadLetterGroup; onAsk: (question: GroupQuestion) => void }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon aria-label={`Actions on the group ${group.error.code} ${group.error.message}`.slice(0, 120)}>
          <Icon name="chevronDown" size={14} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Icon name="retry" size={14} />} onClick={() => onAsk({ action: "retry", group })}>
          Retry the group…
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="trash" size={14} />} onClick={() => onAsk({ action: "remove", group })}>
          Purge the group…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
