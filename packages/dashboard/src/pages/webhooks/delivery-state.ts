import type { DeliveryState } from "@tidemill/contract";
import type { Tone } from "../../ui/StateBadge.tsx";

const TONES: Readonly<Record<DeliveryState, Tone>> = { pending: "info", delivered: "good", failed: "bad", cancelled: "rest" };

export const toneOf = (state: DeliveryState): Tone => TONES[state];
