import type { Schedule } from "@tidemill/contract";
import type { Tone } from "../../ui/StateBadge.tsx";

/** What the state of a schedule means. An active one is well; an active job is under way. */
export const toneOf = (state: Schedule["state"]): Tone => (state === "active" ? "good" : "warn");
