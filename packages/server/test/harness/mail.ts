import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { until } from "./service.ts";

/** A mail that a server has taken. */
export interface ReceivedMail {
  readonly to: readonly string[];
  readonly text: string;
}

/** An SMTP server that keeps what it gets. */
export class MailServer {
  readonly received: ReceivedMail[] = [];
  readonly #server: SMTPServer;

  private constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ["STARTTLS"],
      onData: (stream, session, done) => {
        text(stream).then((raw) => {
          const to = session.envelope.rcptTo.map(({ address }) => address);
          // Long lines are folded, with `=` at the end.
          this.received.push({ to, text: raw.replaceAll("=\r\n", "").replaceAll("=3D", "=") });
          done();
        }, done);
      },
    });
  }

  static async listen(): Promise<MailServer> {
    const made = new MailServer();
    await new Promise<void>((resolve) => made.#server.listen(0, "127.0.0.1", resolve));
    return made;
  }

  get url(): string {
    const address = this.#server.server.address();
    return `smtp://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  }

  /** The newest mail to an address, once there are that many. */
  async mailTo(address: string, count = 1): Promise<ReceivedMail> {
    const found = () => this.received.filter(({ to }) => to.includes(address));
    await until(() => found().length >= count, `${count} mails to ${address}`);
    return found().at(-1) as ReceivedMail;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

/** The token of the link in a mail. */
export const linkIn = ({ text: mail }: ReceivedMail): string => /\/dashboard\/link\/([\w-]{43})/.exec(mail)?.[1] ?? "";
