/** A mail address as it is stored and compared. People write theirs with capital letters now and then. */
export const normalizeEmail = (email: string): string => email.trim().normalize("NFC").toLowerCase();
