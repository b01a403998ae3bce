import type { FastifySchemaCompiler } from "fastify";
import type { Api } from "./api.ts";
import { compileSchema, type Validator, type ValidatorCompiler } from "./validate.ts";

/** The largest schema takes 10 to 30 ms. */
const COMPILE_EVERY_MS = 20;

/**
 * Compiles the schemas of an API's routes one by one when it listens. Otherwise the first request of each route would wait for the
 * compilation, and so would all other requests at that time.
 */
export function compileAhead(api: Api): void {
  const validators: Validator[] = [];
  const listing =
    (compiler: ValidatorCompiler): ValidatorCompiler =>
    (route) => {
      const validator = compiler(route);
      validators.push(validator);
      return validator;
    };
  api.setValidatorCompiler(listing(compileSchema));
  api.addHook("onRoute", (route) => {
    if (route.validatorCompiler)
      route.validatorCompiler = listing(route.validatorCompiler as ValidatorCompiler) as FastifySchemaCompiler<unknown>;
  });
  let timer: NodeJS.Timeout | undefined;
  const compileNext = () => {
    const next = validators.pop();
    if (!next) return clearInterval(timer);
    try {
      next.compile();
    } catch {
      // The request that needs the schema fails with the error.
    }
  };
  api.addHook("onListen", async () => {
    timer = setInterval(compileNext, COMPILE_EVERY_MS).unref();
  });
  api.addHook("onClose", async () => clearInterval(timer));
}
