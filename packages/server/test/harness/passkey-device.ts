import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isoCBOR } from "@simplewebauthn/server/helpers";

const [PRESENT, VERIFIED, HAS_CREDENTIAL] = [0x01, 0x04, 0x40];
/** Keys and values of COSE: a key on P-256, for ES256. */
const COSE = { kty: 1, alg: 3, crv: -1, x: -2, y: -3, ec2: 2, es256: -7, p256: 1 } as const;

/** What the service asks for, as far as it matters here. */
interface Options {
  readonly challenge: string;
}

/** A device that makes a passkey and signs in with it, as a browser with a person in front of it would. */
export class PasskeyDevice {
  readonly #id = randomBytes(32);
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #origin: string;
  #uses = 0;

  /** @param origin of the page that asks for the passkey */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Makes the passkey. */
  register({ challenge }: Options): object {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.#id.length);
    // Zeros: the kind of the device is not told.
    const credential = Buffer.concat([Buffer.alloc(16), length, this.#id, isoCBOR.encode(coseOf(this.#keys.publicKey))]);
    const authData = new Uint8Array(Buffer.concat([this.#state(HAS_CREDENTIAL), credential]));
    const attestation = new Map<string, unknown>([
      ["fmt", "none"],
      ["attStmt", new Map()],
      ["authData", authData],
    ]);
    const attestationObject = encode(isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0]));
    return this.#credential({ clientDataJSON: encode(this.#clientData("webauthn.create", challenge)), attestationObject });
  }

  /** Signs in. */
  answer({ challenge }: Options): object {
    const clientData = this.#clientData("webauthn.get", challenge);
    const authenticatorData = this.#state(0);
    const signed = Buffer.concat([authenticatorData, sha256(clientData)]);
    const signature = encode(sign("sha256", signed, this.#keys.privateKey));
    return this.#credential({ clientDataJSON: encode(clientData), authenticatorData: encode(authenticatorData), signature });
  }

  #credential(response: object): object {
    const id = encode(this.#id);
    return { id, rawId: id, type: "public-key", clientExtensionResults: {}, response };
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false }));
  }

  /** The site, what is known of the person, and how often the passkey was used. */
  #state(flags: number): Buffer {
    const uses = Buffer.alloc(4);
    uses.writeUInt32BE(++this.#uses);
    return Buffer.concat([sha256(new URL(this.#origin).hostname), Buffer.of(PRESENT | VERIFIED | flags), uses]);
  }
}

function coseOf(key: KeyObject): Map<number, number | Uint8Array> {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  return new Map<number, number | Uint8Array>([
    [COSE.kty, COSE.ec2],
    [COSE.alg, COSE.es256],
    [COSE.crv, COSE.p256],
    [COSE.x, new Uint8Array(Buffer.from(x, "base64url"))],
    [COSE.y, new Uint8Array(Buffer.from(y, "base64url"))],
  ]);
}

const sha256 = (data: string | Buffer): Buffer => createHash("sha256").update(data).digest();
const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
