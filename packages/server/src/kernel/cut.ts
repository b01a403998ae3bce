/** A text, or its beginning with an ellipsis if it is longer than `max`. @param max characters */
export const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text);
