import openapiTypes, { astToString } from "openapi-typescript";

/** The TypeScript types that openapi-typescript makes of an OpenAPI document. */
export const typesOf = async (document: object): Promise<string> => astToString(await openapiTypes(JSON.stringify(document)));
