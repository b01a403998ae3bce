import type { Socket } from "node:net";

/**
 * Calls `onMessage` with the head of each HTTP message that a socket receives, after the whole body has arrived. It reads only
 * `Content-Length`, so that it takes almost no processor time.
 */
export function onMessages(socket: Socket, onMessage: (head: string) => void): void {
  let pending = 0;
  let partial = "";
  let head = "";
  socket.on("data", (chunk: Buffer) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (pending === 0) {
        partial += rest.toString("latin1");
        const end = partial.indexOf("\r\n\r\n");
        if (end === -1) return;
        head = partial.slice(0, end);
        pending = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        rest = rest.subarray(rest.length - (partial.length - end - 4));
        partial = "";
      }
      const taken = Math.min(pending, rest.length);
      pending -= taken;
      rest = rest.subarray(taken);
      if (pending > 0) return;
      onMessage(head);
    }
  });
}
