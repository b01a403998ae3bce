import { Textarea } from "@mantine/core";
import { RawJson } from "../api/raw-json.ts";

export interface JsonInputProps {
  readonly label: string;
  readonly description?: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly autoFocus?: boolean;
}

/** A field for JSON. It is sent as it is typed: no digit is lost. */
export function JsonInput({ label, description, value, onChange, autoFocus }: JsonInputProps) {
  return (
    <Textarea
      label={label}
      description={description}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      error={jsonProblem(value)}
      rows={8}
      spellCheck={false}
      autoComplete="off"
      styles={{ input: { fontFamily: "var(--mono)", fontSize: "0.75rem" } }}
      data-autofocus={autoFocus || undefined}
    />
  );
}

/** What is wrong with a text as JSON. Null if nothing is wrong, or if the text is empty. */
export function jsonProblem(text: string): string | null {
  if (text.trim() === "") return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
}

/** The text as a value to send. Undefined for an empty one. */
export const rawJson = (text: string): RawJson | undefined => (text.trim() === "" ? undefined : new RawJson(text.trim()));
