/** Empties a field when its text was sent. What was typed since then stays. For the setter of a state. */
export const clearSent = (sent: string) => (now: string) => (now === sent ? "" : now);
