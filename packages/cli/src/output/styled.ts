import { styleText } from "node:util";

/** Coloured text, only in terminals that want colours (`NO_COLOR`). */
export const styled = (colour: "cyan" | "gray" | "green" | "red" | "yellow" | "bold", text: string): string => styleText(colour, text);
