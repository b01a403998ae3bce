import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { readVectors } from "./vectors.ts";

const FILE = new URL("../../../contract/vectors/run-protocol.schema.json", import.meta.url);

/** The JSON Schema of the run protocol, as a client in another language would use it. */
export class RunProtocolSchema {
  readonly #ajv = new Ajv2020({ strict: true, allErrors: true });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #calls = readVectors("run-protocol").calls.map(({ call, ...schemas }) => {
    const [method = "", path = ""] = call.split(" ");
    return { ...schemas, method, path: new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`) };
  });

  constructor() {
    addFormats.default(this.#ajv, ["date-time"]);
    this.#ajv.addSchema(JSON.parse(readFileSync(FILE, "utf8")), "protocol");
  }

  /** What is wrong with a value. Empty if nothing is. */
  faultsOf(schema: string, value: unknown): string[] {
    const known = this.#validators.get(schema);
    const validate = known ?? this.#ajv.compile({ $ref: `protocol#/$defs/${schema}` });
    this.#validators.set(schema, validate);
    validate(value);
    return (validate.errors ?? []).map(({ instancePath, message }) => `${schema}${instancePath} ${message}`);
  }

  /** What is wrong with the body of a request. Null if the protocol does not have the call. */
  faultsOfRequest(method: string, path: string, request: unknown): string[] | null {
    const call = this.#callOf(method, path);
    if (!call) return null;
    return call.request === null ? [] : this.faultsOf(call.request, request);
  }

  /** What is wrong with the bodies of a call. Null if the protocol does not have it. */
  faultsOfCall(method: string, path: string, request: unknown, status: number, response: unknown): string[] | null {
    const call = this.#callOf(method, path);
    if (!call) return null;
    // A request that is refused may be malformed.
    const ofRequest = status >= 400 ? [] : this.faultsOfRequest(method, path, request);
    return [...(ofRequest ?? []), ...this.faultsOf(status < 400 ? call.response : "Problem", response)];
  }

  #callOf(method: string, path: string) {
    return this.#calls.find((one) => one.method === method && one.path.test(path));
  }
}
