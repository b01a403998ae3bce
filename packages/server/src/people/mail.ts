import { createTransport, type Transporter } from "nodemailer";
import type { Config, EmitEvent } from "#kernel";
import type { PublicUrl } from "./base-url.ts";

/** A mail in plain text. It contains no text of tenants, who could make it say anything. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

const TIMEOUT_MS = 10_000;
/** The maximum number of connections to the SMTP server. */
const MAX_CONNECTIONS = 2;
/** The maximum number of mails that wait. There are so many only if the server does not respond. */
const MAX_WAITING = 1_000;

/** Sends mail in the background. */
export class Mailer {
  readonly #transport: Transporter;
  readonly #from: string;
  readonly #emit: EmitEvent;
  readonly #sending = new Set<Promise<void>>();

  private constructor(smtpUrl: string, from: string, emit: EmitEvent) {
    const timeouts = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS };
    const url = new URL(smtpUrl);
    this.#transport = createTransport({
      pool: true,
      maxConnections: MAX_CONNECTIONS,
      host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: Number(url.port) || (url.protocol === "smtps:" ? 465 : 587),
      secure: url.protocol === "smtps:",
      // `?tls=required` refuses a server without STARTTLS.
      requireTLS: url.searchParams.get("tls") === "required",
      ...(url.username !== "" && { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
      disableFileAccess: true,
      disableUrlAccess: true,
      ...timeouts,
    });
    this.#from = from;
    this.#emit = emit;
  }

  /** Null without a server, or without a public URL, which links in mail need. */
  static of({ smtpUrl, mailFrom }: Config, { base }: PublicUrl, emit: EmitEvent): Mailer | null {
    if (smtpUrl === null) return null;
    if (base === null) {
      emit("mail_disabled", {});
      return null;
    }
    return new Mailer(smtpUrl, mailFrom || `tidemill@${new URL(base).hostname}`, emit);
  }

  /** Returns whether the mail is on its way. It may still fail to arrive. */
  send(mail: Mail): boolean {
    if (this.#sending.size >= MAX_WAITING) return false;
    const sending: Promise<void> = this.#transport.sendMail({ from: this.#from, ...mail }).then(
      () => this.#emit("mail_sent", { subject: mail.subject }),
      (error: unknown) => this.#emit("mail_failed", { subject: mail.subject, error }),
    );
    this.#sending.add(sending);
    void sending.finally(() => this.#sending.delete(sending));
    return true;
  }

  async close(): Promise<void> {
    await Promise.all(this.#sending);
    this.#transport.close();
  }
}
