import { Button, Menu } from "@mantine/core";
import { Icon } from "./Icon.tsx";

export interface ChoiceFilterProps {
  readonly label: string;
  readonly choices: readonly string[];
  /** The chosen ones, separated by commas. */
  readonly value: string;
  readonly single: boolean;
  readonly onChange: (value: string) => void;
}

/** A menu of choices. Several of them mean "or". */
export function ChoiceFilter({ label, choices, value, single, onChange }: ChoiceFilterProps) {
  const chosen = value === "" ? [] : value.split(",");
  const shown = chosen.length > 2 ? `${chosen.length} chosen` : chosen.join(", ").replaceAll("_", " ");
  const toggle = (choice: string) => {
    if (single) return onChange(chosen.includes(choice) ? "" : choice);
    onChange(choices.filter((one) => (one === choice) !== chosen.includes(one)).join(","));
  };
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button rightSection={<Icon name="chevronDown" size={12} />} variant={chosen.length > 0 ? "light" : "default"}>
          {label}
          {shown && `: ${shown}`}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {choices.map((choice) => (
          <Menu.CheckboxItem key={choice} checked={chosen.includes(choice)} closeMenuOnClick={single} onChange={() => toggle(choice)}>
            {choice.replaceAll("_", " ")}
          </Menu.CheckboxItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
