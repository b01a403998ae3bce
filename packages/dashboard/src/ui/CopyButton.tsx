import { ActionIcon, Button } from "@mantine/core";
import { useState } from "react";
import { copyText } from "./copy.ts";
import { Icon } from "./Icon.tsx";
import { notifyFailure } from "./notices.ts";

const SHOWN_MS = 2_000;

/** Copies a text. With `children`, it is a button with that text. */
export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await copyText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), SHOWN_MS);
    } catch (error) {
      notifyFailure("Not copied", error);
    }
  };
  const icon = <Icon name={copied ? "check" : "copy"} size={14} />;
  if (children) {
    return (
      <Button leftSection={icon} onClick={() => void copy()}>
        {copied ? "Copied" : children}
      </Button>
    );
  }
  return (
    <ActionIcon size="sm" aria-label={copied ? "Copied" : label} title={label} onClick={() => void copy()}>
      {icon}
    </ActionIcon>
  );
}
