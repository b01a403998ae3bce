import type { FastifyReply, FastifyRequest } from "fastify";
import type { LoopTime, SlicedWork, WorkspaceId } from "#kernel";
import type { Api } from "./api.ts";
import { type JsonStream, jsonItems, jsonText } from "./json-text.ts";
import { runForRequest } from "./loop-time.ts";

/** A response with records in `data`. */
interface List {
  readonly data: readonly unknown[];
}

/** About how much text is made in one slice, in less than a millisecond. Characters. */
const SLICE_CHARACTERS = 64 * 1024;

const isList = (payload: unknown): payload is List =>
  typeof payload === "object" && payload !== null && "data" in payload && Array.isArray(payload.data);

/** Turns lists of records into JSON text in slices of the event loop's time, one record after the other, and sends long lists in chunks. */
export function sliceLongLists(api: Api, loopTime: LoopTime): void {
  // Fastify also sends a stream, although its types say that a serializer returns a string.
  const useText = (reply: FastifyReply, text: string | JsonStream) => void reply.serializer(() => text as string);
  api.addHook("preSerialization", (request, reply, payload, done) => {
    if (!isList(payload) || !request.principal) return done(null, payload);
    const text = listText(loopTime, request, request.principal.workspaceId, payload);
    if (!(text instanceof Promise)) {
      useText(reply, text);
      return done(null, payload);
    }
    return void text.then((made) => useText(reply, made)).then(() => done(null, payload), done);
  });
}

/** Short lists wait for no turn. */
function listText(
  loopTime: LoopTime,
  request: FastifyRequest,
  workspaceId: WorkspaceId,
  list: List,
): (string | JsonStream) | Promise<string | JsonStream> {
  const work = textInSlices(list);
  const first = work.next();
  return first.done ? first.value : runForRequest(loopTime, request, workspaceId, Number.POSITIVE_INFINITY, work);
}

function* textInSlices({ data, ...others }: List): SlicedWork<string | JsonStream> {
  const records: string[][] = [];
  let characters = 0;
  for (const record of data) {
    const text = JSON.stringify(record);
    records.push([text]);
    characters += text.length;
    if (characters < SLICE_CHARACTERS) continue;
    characters = 0;
    yield;
  }
  const rest = JSON.stringify(others).slice(1);
  return jsonText(['{"data":[', ...jsonItems(records), rest === "}" ? "]}" : `],${rest}`]);
}
