/** A text, or as much of it as is shown, with an ellipsis. @param max characters */
export const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text);
