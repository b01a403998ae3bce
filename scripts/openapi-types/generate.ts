import openapiTypes, { astToString } from "openapi-typescript";

/** Generates TypeScript types from an OpenAPI document with openapi-typescript. */
export const typesOf = async (document: object): Promise<string> => astToString(await openapiTypes(JSON.stringify(document)));
