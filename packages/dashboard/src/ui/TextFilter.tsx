import { CloseButton, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

/** A change is applied after typing has paused for this long. Milliseconds. */
const REST_MS = 350;

export interface TextFilterProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string | undefined;
  readonly width?: string | undefined;
  readonly onChange: (value: string) => void;
}

/** A filter that is typed. It applies when typing pauses, and with Enter. */
export function TextFilter({ label, value, placeholder, width = "11rem", onChange }: TextFilterProps) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const applied = useRef(value);
  useEffect(() => {
    // The applied text comes back as the value, and more may have been typed by then.
    if (value === applied.current) return;
    applied.current = value;
    clearTimeout(timer.current);
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (next: string, afterMs: number) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      applied.current = next.trim();
      onChange(applied.current);
    }, afterMs);
  };
  return (
    <TextInput
      size="xs"
      w={width}
      aria-label={label}
      placeholder={placeholder ?? label}
      value={text}
      spellCheck={false}
      autoComplete="off"
      onChange={({ currentTarget }) => apply(currentTarget.value, REST_MS)}
      onKeyDown={({ key }) => key === "Enter" && apply(text, 0)}
      rightSection={text ? <CloseButton size="xs" aria-label={`Clear ${label}`} onClick={() => apply("", 0)} /> : null}
    />
  );
}
