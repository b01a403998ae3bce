import { createServer } from "node:net";

/**
 * The receiver of callbacks: answers every request with 200 as cheaply as Node can, so that it is not what is measured. Told
 * "count" over IPC it says how many it has answered.
 */
const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
let answered = 0;

const server = createServer((socket) => {
  let pending = 0;
  let head = "";
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (pending === 0) {
        head += rest.toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        if (end === -1) return;
        pending = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        rest = rest.subarray(rest.length - (head.length - end - 4));
        head = "";
      }
      const taken = Math.min(pending, rest.length);
      pending -= taken;
      rest = rest.subarray(taken);
      if (pending > 0) return;
      answered += 1;
      socket.write(ANSWER);
    }
  });
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));
process.on("message", () => process.send?.({ answered }));
process.on("disconnect", () => process.exit(0));
