import type { Mail } from "./mail.ts";

const NOT_YOU = "If you did not expect this mail, you can ignore it.";

export const invitationMail = (to: string, url: string): Mail => ({
  to,
  subject: "You are invited to a workspace",
  text: `You are invited to a workspace of a job service.\n\nAccept the invitation within 72 hours:\n${url}\n\n${NOT_YOU}\n`,
});

export const resetMail = (to: string, url: string): Mail => ({
  to,
  subject: "Set a new password",
  text: `Set a new password within two hours:\n${url}\n\nThis ends all your sessions. ${NOT_YOU}\n`,
});

export const verifyMail = (to: string, url: string): Mail => ({
  to,
  subject: "Confirm your mail address",
  text: `Confirm that this mail address is yours within 24 hours:\n${url}\n\n${NOT_YOU}\n`,
});
