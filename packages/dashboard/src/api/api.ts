import { ApiError } from "./api-error.ts";
import { type RequestOptions, request } from "./request.ts";

/** Requests of one base: a workspace's API, the operator API, or sign-in. Paths begin with `/`. */
export interface Api {
  get<T>(path: string, options?: RequestOptions): Promise<T>;
  post<T>(path: string, body?: unknown, options?: RequestOptions): Promise<T>;
  patch<T>(path: string, body?: unknown, options?: RequestOptions): Promise<T>;
  put<T>(path: string, body?: unknown, options?: RequestOptions): Promise<T>;
  delete<T = void>(path: string, options?: RequestOptions): Promise<T>;
}

/** What the shell does about responses that concern the session. */
export interface SessionHandlers {
  /** The session has ended: 401. */
  readonly onEnded: () => void;
  /** Asks the person to confirm who they are. Resolves to false if they do not. */
  readonly confirm: () => Promise<boolean>;
}

let handlers: SessionHandlers = { onEnded: () => {}, confirm: async () => false };

/** The shell calls it once. */
export function handleSession(given: SessionHandlers): void {
  handlers = given;
}

/** Reports that the session has ended, if something other than a 401 showed it. */
export const sessionHasEnded = (): void => handlers.onEnded();

/** Makes an `Api`. A request for which the person must confirm who they are is sent again when they have. */
function createApi(base: string): Api {
  const send = async <T>(method: Parameters<typeof request>[0], path: string, options: RequestOptions): Promise<T> => {
    for (;;) {
      try {
        return await request<T>(method, base + path, options);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 401 && !base.startsWith("auth")) handlers.onEnded();
        if (error.status !== 403 || error.details.confirm !== true || !(await handlers.confirm())) throw error;
      }
    }
  };
  return {
    get: (path, options = {}) => send("GET", path, options),
    post: (path, body, options = {}) => send("POST", path, { ...options, body }),
    patch: (path, body, options = {}) => send("PATCH", path, { ...options, body }),
    put: (path, body, options = {}) => send("PUT", path, { ...options, body }),
    delete: (path, options = {}) => send("DELETE", path, options),
  };
}

/** Sign-in, sessions and the account of the person: `/dashboard/auth`. */
export const auth: Api = createApi("auth");

/** The operator API, for a person who is an operator. Paths begin with `/workspaces`, `/nodes`. */
export const operator: Api = createApi("api/admin/v1");

/** The API of a workspace. Paths begin like `/queues`. */
export const workspaceApi = (workspaceId: string): Api => createApi(`api/${encodeURIComponent(workspaceId)}/v1`);
