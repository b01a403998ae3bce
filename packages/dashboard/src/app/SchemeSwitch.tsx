import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from "@mantine/core";
import { Icon, type IconName } from "../ui/Icon.tsx";

const SCHEMES: readonly [MantineColorScheme, string, IconName][] = [
  ["light", "Light", "sun"],
  ["dark", "Dark", "moon"],
  ["auto", "Same as the system", "system"],
];

/** Light, dark, or the same as the system. Stored in the browser. */
export function SchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [, label, icon] = SCHEMES.find(([name]) => name === colorScheme) ?? (SCHEMES[0] as (typeof SCHEMES)[0]);
  return (
    <Menu position="top-start">
      <Menu.Target>
        <ActionIcon aria-label={`Colors: ${label}`}>
          <Icon name={icon} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.RadioGroup value={colorScheme} onChange={(value) => setColorScheme(value as MantineColorScheme)}>
          {SCHEMES.map(([name, text]) => (
            <Menu.RadioItem key={name} value={name} closeMenuOnClick>
              {text}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </Menu.Dropdown>
    </Menu>
  );
}
