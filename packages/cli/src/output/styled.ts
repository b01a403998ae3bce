import { styleText } from "node:util";

/** Text in a colour, in terminals that want colours only (`NO_COLOR`). */
export const styled = (colour: "cyan" | "gray" | "green" | "red" | "yellow" | "bold", text: string): string => styleText(colour, text);
