/** The zero-terminated string at an offset. */
export const text = (message: Buffer, from: number): string => message.toString("latin1", from, message.indexOf(0, from));

/** Splits a stream into messages. A message has a type, except a client's first one, and a length that includes itself. */
export function messages(fromClient: boolean, onMessage: (type: string, message: Buffer) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let typeLength = fromClient ? 0 : 1;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= typeLength + 4 && rest.length >= typeLength + rest.readInt32BE(typeLength)) {
      const message = rest.subarray(0, typeLength + rest.readInt32BE(typeLength));
      rest = rest.subarray(message.length);
      onMessage(typeLength === 0 ? "" : String.fromCharCode(message[0] as number), message);
      typeLength = 1;
    }
  };
}
