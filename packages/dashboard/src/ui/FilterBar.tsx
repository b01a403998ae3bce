import { Button, Group } from "@mantine/core";
import type { Filters } from "../app/use-filters.ts";
import { ChoiceFilter } from "./ChoiceFilter.tsx";
import { TextFilter } from "./TextFilter.tsx";

/** A filter: some of a few choices, or a text. */
export type FilterField<Name extends string> =
  | { readonly name: Name; readonly label: string; readonly choices: readonly string[]; readonly single?: boolean }
  | { readonly name: Name; readonly label: string; readonly placeholder?: string; readonly width?: string };

/** The filters of a page. They are in the address, so that a view can be shared. */
export function FilterBar<Name extends string>({ filters, fields }: { filters: Filters<Name>; fields: readonly FilterField<Name>[] }) {
  return (
    <Group role="search" aria-label="Filters" gap="xs" mb="sm" align="center">
      {fields.map((field) => {
        const shared = { key: field.name, label: field.label, value: filters.values[field.name] };
        const onChange = (value: string) => filters.set(field.name, value);
        const { key, ...rest } = shared;
        return "choices" in field ? (
          <ChoiceFilter key={key} {...rest} choices={field.choices} single={field.single ?? false} onChange={onChange} />
        ) : (
          <TextFilter key={key} {...rest} placeholder={field.placeholder} width={field.width} onChange={onChange} />
        );
      })}
      {!filters.isEmpty && (
        <Button variant="subtle" color="gray" onClick={filters.clear}>
          Clear
        </Button>
      )}
    </Group>
  );
}
